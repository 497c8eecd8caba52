package document

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text from elsewhere (a workload, a database, a compiler, a crashed worker) may have any length.
// It may contain commands to a terminal or a CI service, or formulas for a spreadsheet. All such
// text must pass through the functions in this file before it reaches a terminal or a file.

// Line converts text from elsewhere to one printable line that cannot control a terminal or a CI
// service. It cuts out the middle of a very long text.
func Line(s string) string { return oneLine(clip(s, maxParagraph)) }

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return printable(r)
	}, s)
	return harmless(strings.Join(strings.Fields(s), " "))
}

// commands matches text that CI services take for a command. GitHub recognizes ::error only at the
// beginning of a line, but wrapping may move the text there. Azure's ##[error] and ##vso[…], and
// ##teamcity[…], are recognized anywhere.
var commands = regexp.MustCompile(`::[A-Za-z-]+(::|[ ,])|##[^# ]`)

func harmless(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	return commands.ReplaceAllStringFunc(s, func(c string) string {
		if c[0] == ':' {
			return ": " + harmless(c[1:])
		}
		return "## " + c[2:]
	})
}

// printable replaces a rune that is not printable: a control or format character, including a
// character that changes the direction of writing, or a byte that is not UTF-8.
func printable(r rune) rune {
	if r == ' ' || unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// Printable returns a writer to w for text of several lines. It replaces everything that
// is not printable except line feeds and tabs, and breaks up commands to CI services.
func Printable(w io.Writer) io.Writer {
	line := "" // beginning of the current line, without spaces, up to "::"
	hashes := 0
	return &mapper{w: w, change: func(out []byte, r rune) []byte {
		if line == ":" && r == ':' || hashes > 1 && r != '#' && !unicode.IsSpace(r) {
			out = append(out, ' ')
		}
		switch {
		case r == '\n':
			line = ""
		case len(line) < 2 && !unicode.IsSpace(r):
			line += string(r)
		}
		if hashes++; r != '#' {
			hashes = 0
		}
		if r == '\n' || r == '\t' {
			return append(out, byte(r))
		}
		return utf8.AppendRune(out, printable(r))
	}}
}

// PrintableJSON returns a writer to w for JSON. It escapes unprintable characters. It also escapes
// the second of two number signs, which may begin a command to a CI service. Values stay the same.
func PrintableJSON(w io.Writer) io.Writer {
	before := ' '
	return &mapper{w: w, change: func(out []byte, r rune) []byte {
		command := r == '#' && before == '#'
		before = r
		if !command && (r == '\n' || printable(r) == r) {
			return utf8.AppendRune(out, r)
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
		return out
	}}
}

// mapper is a writer that changes text rune by rune. Several goroutines can write to it.
type mapper struct {
	mu      sync.Mutex
	w       io.Writer
	change  func(out []byte, r rune) []byte
	partial []byte // the beginning of a rune whose end has not been written yet
}

func (m *mapper) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := append(m.partial, p...)
	var out bytes.Buffer
	var b []byte
	for len(data) > 0 && utf8.FullRune(data) {
		r, size := utf8.DecodeRune(data)
		b = m.change(b[:0], r)
		out.Write(b)
		data = data[size:]
	}
	m.partial = bytes.Clone(data)
	if _, err := m.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CSVFields makes fields safe to open in a spreadsheet: printable, and never a formula.
func CSVFields(fields []string) []string {
	return Map(fields, csvText)
}

func csvText(s string) string {
	s = Line(s)
	if s == "" || !strings.ContainsRune("=+-@", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}
