package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits in bytes for the head and for the body of a response.
const (
	maxHead = 64 << 10
	maxBody = 64 << 20
)

var errMalformed = errors.New("malformed response")

// malformed returns an error that explains why the bytes received are not an HTTP
// response.
func malformed(why string) error { return fmt.Errorf("%w: %s", errMalformed, why) }

// response reads the responses to GET requests from a connection, one after another. See RFC
// 9112, sections 4 to 7.
type response struct {
	r    io.Reader
	buf  []byte // buf[from:to] has been read but not yet returned
	from int
	to   int
	body []byte // body of a chunked response; the memory is reused
	keep bool   // the connection can be used again after this response
}

func (p *response) reset(r io.Reader) {
	p.r, p.from, p.to = r, 0, 0
	if p.buf == nil {
		p.buf = make([]byte, 4<<10)
	}
}

// p.more() reads at least one byte into the buffer, unless the connection has ended. If there is no room at
// the end of the buffer, it first makes room: it moves the unread bytes to the front, or doubles the buffer
// if the unread bytes fill it.
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

// next reads the next final response, and skips interim responses (status 1xx). The body is
// valid until next is called again.
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
	text, err := p.until(blankLine, "its head")
	if errors.Is(err, io.EOF) && p.to > p.from {
		return 0, nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	h, err := parseHead(text)
	if err != nil {
		return 0, nil, err
	}
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

// p.exactly(n) reads the next n bytes and returns them.
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

// rest returns all bytes that the server sends until it closes the connection.
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

// until reads up to and including the separator, and returns the bytes before the separator. The parameter
// "what" names the text in errors.
func (p *response) until(separator []byte, what string) ([]byte, error) {
	for seen := 0; ; {
		if n := bytes.Index(p.buf[p.from+seen:p.to], separator); n >= 0 {
			text := p.buf[p.from:][:seen+n]
			p.from += len(text) + len(separator)
			return text, nil
		}
		if seen = max(p.to-p.from-len(separator)+1, 0); seen > maxHead {
			return nil, malformed(what + " has no end")
		}
		if err := p.more(); err != nil {
			return nil, err
		}
	}
}

// chunks reads a chunked body and its trailer, and returns the body.
func (p *response) chunks() ([]byte, error) {
	p.body = p.body[:0]
	for {
		line, err := p.until(crlf, "a line")
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
		line, err := p.until(crlf, "a line")
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

// head holds the parts of a response's head that matter here.
type head struct {
	status  int
	length  int64 // Content-Length; -1: not given
	chunked bool
	keep    bool // the connection stays open after the response
}

// parseHead parses the status line and the fields, which are separated by CRLF.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	line, fields, more := bytes.Cut(b, crlf)
	// The line is, for example: HTTP/1.1 200 OK
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' || broken(line) {
		return h, malformed("bad status line")
	}
	status, ok := number(line[9:12], 10)
	if !ok || status < 100 {
		return h, malformed("bad status")
	}
	old := line[7] == '0'
	h.status, h.keep = int(status), !old
	for more {
		line, fields, more = bytes.Cut(fields, crlf)
		if err := h.field(line); err != nil {
			return h, err
		}
	}
	switch {
	case h.chunked && old: // HTTP/1.0 has no Transfer-Encoding, so clients disagree about where such a body ends
		return h, malformed("a Transfer-Encoding in HTTP/1.0")
	case h.chunked && h.length >= 0:
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
	switch {
	case equalFold(name, "Content-Length"):
		n, ok := number(bytes.Trim(value, " \t"), 10)
		if !ok || n > maxBody || h.length >= 0 && h.length != n {
			return malformed("bad Content-Length")
		}
		h.length = n
	case equalFold(name, "Transfer-Encoding"):
		if h.chunked || !equalFold(bytes.Trim(value, " \t"), "chunked") {
			return malformed("a Transfer-Encoding other than chunked")
		}
		h.chunked = true
	case equalFold(name, "Connection"):
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

// broken reports whether a line contains control characters, such as a single CR or LF.
func broken(line []byte) bool {
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

// token says which bytes the name of a field may contain (RFC 9110, 5.6.2).
var token = func() (t [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

// equalFold compares b with an ASCII word, ignoring case. The lengths must be equal, because
// some letters outside ASCII fold to ASCII letters, but have more bytes.
func equalFold(b []byte, word string) bool {
	return len(b) == len(word) && strings.EqualFold(string(b), word)
}

// number parses b, which must consist of at most 15 digits.
func number(b []byte, base int) (n int64, ok bool) {
	u, err := strconv.ParseUint(string(b), base, 64)
	return int64(u), err == nil && len(b) <= 15
}
