package load

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// The longest head and the longest body of a response that are accepted.
const (
	maxHead = 64 << 10
	maxBody = 64 << 20
)

// A syntaxError explains why the bytes received are not an HTTP response.
type syntaxError struct{ why string }

func (e *syntaxError) Error() string { return "malformed response: " + e.why }

func malformed(why string) error { return &syntaxError{why} }

// response reads the responses to GET requests from a connection, one after the
// other. See RFC 9112, sections 4 to 7.
type response struct {
	r    io.Reader
	buf  []byte // buf[from:to] has been read but not yet returned
	from int
	to   int
	body []byte // of a chunked response, reused
	keep bool   // the connection can be used again after this response
}

func (p *response) reset(r io.Reader) {
	p.r, p.from, p.to = r, 0, 0
	if p.buf == nil {
		p.buf = make([]byte, 4<<10)
	}
}

// more reads at least one byte, unless the connection has ended. If necessary, it
// moves the unread bytes to the front of the buffer.
func (p *response) more() error {
	if p.from > 0 && p.to == len(p.buf) {
		p.to = copy(p.buf, p.buf[p.from:p.to])
		p.from = 0
	}
	if p.to == len(p.buf) {
		p.buf = append(p.buf, make([]byte, len(p.buf))...)
	}
	n, err := p.r.Read(p.buf[p.to:])
	p.to += n
	switch {
	case n > 0:
		return nil
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// next reads the next final response and skips interim ones. The body is valid
// until next is called again.
func (p *response) next() (status int, body []byte, err error) {
	for {
		if status, body, err = p.one(); err != nil || status >= 200 {
			return status, body, err
		}
		if status == 101 {
			return 0, nil, malformed("it switches protocols")
		}
	}
}

func (p *response) one() (status int, body []byte, err error) {
	if p.from == p.to {
		p.from, p.to = 0, 0
	}
	begun := func(err error) error {
		if errors.Is(err, io.EOF) && p.to > p.from {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	end := -1
	for seen := 0; ; {
		if end = bytes.Index(p.buf[p.from+seen:p.to], blankLine); end >= 0 {
			end += seen
			break
		}
		if seen = max(p.to-p.from-len(blankLine)+1, 0); seen > maxHead {
			return 0, nil, malformed("its head has no end")
		}
		if err := p.more(); err != nil {
			return 0, nil, begun(err)
		}
	}
	h, err := parseHead(p.buf[p.from : p.from+end+2])
	if err != nil {
		return 0, nil, err
	}
	p.from += end + len(blankLine)
	p.keep = h.keep
	switch {
	case h.status < 200 || h.status == 204 || h.status == 304:
		return h.status, nil, nil
	case h.chunked:
		body, err = p.chunks()
	case h.length >= 0:
		body, err = p.exactly(int(h.length))
	default:
		p.keep = false
		body, err = p.rest()
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return h.status, body, err
}

// exactly reads the next n bytes.
func (p *response) exactly(n int) ([]byte, error) {
	for p.to-p.from < n {
		if err := p.more(); err != nil {
			return nil, err
		}
	}
	b := p.buf[p.from : p.from+n]
	p.from += n
	return b, nil
}

// rest reads until the server closes the connection.
func (p *response) rest() ([]byte, error) {
	for {
		switch err := p.more(); {
		case errors.Is(err, io.EOF):
			return p.exactly(p.to - p.from)
		case err != nil:
			return nil, err
		case p.to-p.from > maxBody:
			return nil, malformed("its body has no end")
		}
	}
}

// line reads the next line, without its CRLF.
func (p *response) line() ([]byte, error) {
	for seen := 0; ; {
		if n := bytes.Index(p.buf[p.from+seen:p.to], crlf); n >= 0 {
			line := p.buf[p.from:][:seen+n]
			p.from += len(line) + len(crlf)
			return line, nil
		}
		if seen = max(p.to-p.from-1, 0); seen > maxHead {
			return nil, malformed("a line has no end")
		}
		if err := p.more(); err != nil {
			return nil, err
		}
	}
}

// chunks reads a chunked body with its trailer.
func (p *response) chunks() ([]byte, error) {
	p.body = p.body[:0]
	for {
		line, err := p.line()
		if err != nil {
			return nil, err
		}
		size, _, _ := bytes.Cut(line, []byte{';'})
		n, ok := number(bytes.TrimRight(size, " \t"), 16)
		if !ok || n+int64(len(p.body)) > maxBody {
			return nil, malformed("bad size of a chunk")
		}
		if n == 0 {
			break
		}
		data, err := p.exactly(int(n) + len(crlf))
		if err != nil {
			return nil, err
		}
		if !bytes.HasSuffix(data, crlf) {
			return nil, malformed("a chunk is longer than its size")
		}
		p.body = append(p.body, data[:n]...)
	}
	for {
		line, err := p.line()
		if err != nil || len(line) == 0 {
			return p.body, err
		}
		if err := new(head).field(line); err != nil {
			return nil, err
		}
	}
}

var (
	crlf      = []byte("\r\n")
	blankLine = []byte("\r\n\r\n")
)

// head holds the relevant parts of a response's head.
type head struct {
	status  int
	length  int64 // of the body; -1: not known
	chunked bool
	keep    bool // the connection is kept alive
}

// parseHead reads the status line and the fields, each with its CRLF.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	n := bytes.Index(b, crlf)
	line := b[:n]
	// HTTP/1.1 200 OK
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' || broken(line) {
		return h, malformed("bad status line")
	}
	status, ok := number(line[9:12], 10)
	if !ok || status < 100 {
		return h, malformed("bad status")
	}
	h.status, h.keep = int(status), line[7] == '1'
	for b = b[n+2:]; len(b) > 0; b = b[n+2:] {
		if n = bytes.Index(b, crlf); n < 0 {
			return h, malformed("bad field")
		}
		if err := h.field(b[:n]); err != nil {
			return h, err
		}
	}
	if h.chunked && h.length >= 0 {
		return h, malformed("both Content-Length and Transfer-Encoding")
	}
	return h, nil
}

func (h *head) field(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || len(name) == 0 || broken(value) {
		return malformed("bad field")
	}
	for _, c := range name {
		if !token[c] {
			return malformed("bad name of a field")
		}
	}
	switch len(name) {
	case len("Content-Length"):
		if !equalFold(name, "content-length") {
			break
		}
		n, ok := number(bytes.Trim(value, " \t"), 10)
		if !ok || n > maxBody || h.length >= 0 && h.length != n {
			return malformed("bad Content-Length")
		}
		h.length = n
	case len("Transfer-Encoding"):
		if !equalFold(name, "transfer-encoding") {
			break
		}
		if h.chunked || !equalFold(bytes.Trim(value, " \t"), "chunked") {
			return malformed("a Transfer-Encoding other than chunked")
		}
		h.chunked = true
	case len("Connection"):
		if !equalFold(name, "connection") {
			break
		}
		for option := range strings.SplitSeq(string(value), ",") {
			switch option = strings.ToLower(strings.Trim(option, " \t")); option {
			case "close":
				h.keep = false
			case "keep-alive":
				h.keep = true
			}
		}
	}
	return nil
}

// broken reports whether a line contains control characters, such as half of an
// end of line.
func broken(line []byte) bool {
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

// token has the bytes that the name of a field may consist of (RFC 9110, 5.6.2).
var token = func() (t [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

// equalFold compares b with a word in lower case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// number parses digits only, at most 15 of them.
func number(b []byte, base int64) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 15 {
		return 0, false
	}
	for _, c := range b {
		d := int64(99)
		switch {
		case '0' <= c && c <= '9':
			d = int64(c - '0')
		case 'a' <= c && c <= 'f':
			d = int64(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = int64(c-'A') + 10
		}
		if d >= base {
			return 0, false
		}
		n = n*base + d
	}
	return n, true
}
