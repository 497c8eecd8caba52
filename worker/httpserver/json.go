package httpserver

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// AppendRow appends the answer for a row to b: a JSON object without spaces, with the columns
// in order. A bool is true or false. A time is in milliseconds since the Unix epoch.
func AppendRow(b []byte, names []string, types []driver.ColumnType, r driver.Row) []byte {
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, name)
		b = append(b, ':')
		c := &r[i]
		switch {
		case c.Null:
			b = append(b, "null"...)
		case types[i].Type == driver.Text:
			b = appendText(b, c.Text)
		case types[i].Type == driver.Bool:
			b = strconv.AppendBool(b, c.Bool)
		case types[i].Type == driver.Time:
			b = strconv.AppendInt(b, c.Time.UnixMilli(), 10)
		default:
			b = strconv.AppendInt(b, c.Int, 10)
		}
	}
	return append(b, '}')
}

// appendText appends text as a JSON string. It calls package json only for texts
// with special characters.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // cannot fail for a string
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// Target returns the target of an HTTP request (path and query) with the parameters in row r of
// b.
func Target(params []plan.Parameter, b *driver.Batch, r int) string {
	t := []byte("/")
	for i, p := range params {
		sign := byte('&')
		if i == 0 {
			sign = '?'
		}
		t = append(append(append(t, sign), url.QueryEscape(p.Name)...), '=')
		switch c := &b.Columns[i]; c.Type {
		case driver.Text:
			t = append(t, url.QueryEscape(c.Text(r))...)
		case driver.Real:
			t = strconv.AppendFloat(t, c.Reals[r], 'g', -1, 64)
		default:
			t = strconv.AppendInt(t, c.Ints[r], 10)
		}
	}
	return string(t)
}
