package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Piece is a part of a format: literal text, followed by a verb. Verb is 0 if no verb follows the
// text.
type Piece struct {
	Text  string
	Verb  byte
	Width int
	zero  bool // pad with zeros instead of spaces
	left  bool // pad on the right instead of the left
}

// ParseFormat parses a format. The verbs %d, %s, %v and %x take an optional width and the flag
// 0 or -. %F and %T write the date and the time of day like strftime, %j writes a JSON value,
// and %% a percent sign.
func ParseFormat(format string) ([]Piece, error) {
	var list []Piece
	var text strings.Builder
	for rest := format; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		text.WriteString(before)
		if !found {
			break
		}
		if strings.HasPrefix(after, "%") {
			text.WriteByte('%')
			rest = after[1:]
			continue
		}
		p := Piece{Text: text.String()}
		text.Reset()
		verb := strings.TrimLeft(after, "0123456789-")
		flags := after[:len(after)-len(verb)]
		if verb == "" || !strings.Contains("dsvxjFT", verb[:1]) {
			_, n := utf8.DecodeRuneInString(verb)
			return nil, fmt.Errorf("unknown verb %q: want %%d, %%s, %%v, %%x, %%j, %%F or %%T, or %%%% for a per cent sign", "%"+flags+verb[:n])
		}
		p.Verb, rest = verb[0], verb[1:]
		switch {
		case flags != "" && (p.moment() || p.json()):
			return nil, fmt.Errorf("%%%s%c has a width: write %%%[2]c", flags, p.Verb)
		case strings.HasPrefix(flags, "-"):
			p.left = true
		case strings.HasPrefix(flags, "0"):
			p.zero = true
		}
		if flags != "" && flags != "-" {
			w, err := strconv.Atoi(strings.TrimLeft(flags, "-"))
			if err != nil || w < 0 || w > 1000 || strings.HasPrefix(flags, "--") {
				return nil, fmt.Errorf("bad width in %q: want a number up to 1000, such as %%08d", "%"+flags+string(p.Verb))
			}
			p.Width = w
		}
		list = append(list, p)
	}
	if text.Len() > 0 {
		list = append(list, Piece{Text: text.String()})
	}
	return list, nil
}

// moment reports whether the verb writes a date or a time of day.
func (p Piece) moment() bool { return p.Verb == 'F' || p.Verb == 'T' }

// json reports whether the verb writes a value of JSON.
func (p Piece) json() bool { return p.Verb == 'j' }

// InJSON returns the indexes of the columns that a format writes as JSON. A NULL in such a column
// is written as null. A NULL in any other column makes the whole text NULL.
func InJSON(pieces []Piece) (columns []int) {
	n := 0
	for _, p := range pieces {
		if p.json() {
			columns = append(columns, n)
		}
		if p.Verb != 0 {
			n++
		}
	}
	return columns
}

// CheckFormat returns an error if the verbs of a format do not fit the columns with these names
// and types.
func CheckFormat(pieces []Piece, names []string, types []driver.Type) error {
	n := 0
	for _, p := range pieces {
		if p.Verb == 0 {
			continue
		}
		if n == len(names) {
			return fmt.Errorf("it has more verbs than columns: name one for each verb under of")
		}
		text := types[n] == driver.Text
		integer := types[n] == driver.Int || types[n] == driver.Bool || types[n] == driver.Time
		switch {
		case !text && !integer:
			return fmt.Errorf("%s is %s: it can be of integers and texts only", names[n], types[n])
		case p.Verb == 'd' && !integer:
			return fmt.Errorf("%%d wants an integer, but %s is %s: write %%s", names[n], types[n])
		case p.moment() && !integer:
			return fmt.Errorf("%%%c wants a time or milliseconds, but %s is %s: write %%s", p.Verb, names[n], types[n])
		case p.Verb == 's' && !text:
			return fmt.Errorf("%%s wants a text, but %s is %s: write %%d", names[n], types[n])
		case p.zero && text:
			return fmt.Errorf("%%0%d%c pads with zeros, but %s is text: leave out the 0", p.Width, p.Verb, names[n])
		}
		n++
	}
	if n < len(names) {
		return fmt.Errorf("it has fewer verbs than columns: name one for each verb under of")
	}
	return nil
}

// format appends the text of row i to b. The column must be of the kind "format".
func (c *column) format(b []byte, i int64) []byte {
	n := 0
	for _, p := range c.pieces {
		b = append(b, p.Text...)
		if p.Verb == 0 {
			continue
		}
		src := c.sources[n]
		n++
		start := len(b)
		switch {
		case p.Verb == 'F':
			year, month, day := time.UnixMilli(src.int(i)).UTC().Date()
			b = appendPadded(b, year, 4)
			b = appendPadded(append(b, '-'), int(month), 2)
			b = appendPadded(append(b, '-'), day, 2)
		case p.Verb == 'T':
			hour, minute, second := time.UnixMilli(src.int(i)).UTC().Clock()
			b = appendPadded(b, hour, 2)
			b = appendPadded(append(b, ':'), minute, 2)
			b = appendPadded(append(b, ':'), second, 2)
		case p.json():
			b = src.appendJSON(b, i)
		case src.typ != driver.Text && p.Verb == 'x':
			b = strconv.AppendInt(b, src.int(i), 16)
		case src.typ != driver.Text:
			b = strconv.AppendInt(b, src.int(i), 10)
		case p.Verb == 'x':
			b = src.append(b, i)
			b = hexInPlace(b, start)
		default:
			b = src.append(b, i)
		}
		if p.Width > 0 {
			b = p.pad(b, start)
		}
	}
	return b
}

// appendJSON appends the value of row i of an integer or text column as JSON. It writes NULL as
// null.
func (c *column) appendJSON(b []byte, i int64) []byte {
	switch {
	case c.mayBeNull() && c.null(i):
		return append(b, "null"...)
	case c.typ == driver.Bool:
		return strconv.AppendBool(b, c.int(i) != 0)
	case c.typ != driver.Text:
		return strconv.AppendInt(b, c.int(i), 10)
	}
	b = append(b, '"')
	start := len(b)
	b = c.append(b, i)
	if slices.ContainsFunc(b[start:], escapedInJSON) {
		text := slices.Clone(b[start:])
		b = b[:start]
		for _, x := range text {
			switch {
			case x == '"' || x == '\\':
				b = append(b, '\\', x)
			case x < ' ':
				b = fmt.Appendf(b, `\u%04x`, x)
			default:
				b = append(b, x)
			}
		}
	}
	return append(b, '"')
}

func escapedInJSON(b byte) bool { return b < ' ' || b == '"' || b == '\\' }

func appendPadded(b []byte, n, width int) []byte {
	start := len(b)
	return Piece{Width: width, zero: true}.pad(strconv.AppendInt(b, int64(n), 10), start)
}

// pad pads b[start:] to the width of the piece.
func (p Piece) pad(b []byte, start int) []byte {
	missing := p.Width - utf8.RuneCount(b[start:])
	if missing <= 0 {
		return b
	}
	fill := byte(' ')
	if p.zero {
		fill = '0'
	}
	end := len(b)
	for range missing {
		b = append(b, fill)
	}
	if p.left {
		return b
	}
	if p.zero && b[start] == '-' {
		start++
	}
	copy(b[start+missing:], b[start:end])
	for k := range missing {
		b[start+k] = fill
	}
	return b
}
