package record

import (
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// Format and Version are what the first line of a recording says.
const (
	Format  = "sqlite3perf-recording"
	Version = 1
)

// event is one line of what was run.
type event struct {
	at, took  int64
	tx        int64
	do        Action
	statement statement
	query     bool
	rows      int64
	affected  int64
}

func appendHeader(b []byte, began time.Time, values bool) []byte {
	b = append(b, `{"format":"`+Format+`","version":`...)
	b = strconv.AppendInt(b, Version, 10)
	b = append(b, `,"began":"`...)
	b = began.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","args":"`...)
	if values {
		b = append(b, "values"...)
	} else {
		b = append(b, "types"...)
	}
	return append(b, "\"}\n"...)
}

func appendStatement(b []byte, number int64, sql string, prepared bool) []byte {
	b = append(b, `{"sql":`...)
	b = strconv.AppendInt(b, number, 10)
	b = append(b, `,"text":`...)
	b = appendString(b, sql)
	if prepared {
		b = append(b, `,"prepared":true`...)
	}
	return append(b, "}\n"...)
}

// appendEvent appends a line. The parameters are args, or written, which has them as they
// are written.
func (r *Recorder) appendEvent(b []byte, conn int64, e *event, args []driver.NamedValue, written []byte, err error) []byte {
	b = append(b, `{"at":`...)
	b = strconv.AppendInt(b, e.at, 10)
	b = append(b, `,"took":`...)
	b = strconv.AppendInt(b, e.took, 10)
	b = append(b, `,"conn":`...)
	b = strconv.AppendInt(b, conn, 10)
	if e.tx != 0 {
		b = append(b, `,"tx":`...)
		b = strconv.AppendInt(b, e.tx, 10)
	}
	if e.do != Run {
		b = append(b, `,"do":"`...)
		b = append(b, e.do...)
		b = append(b, '"')
	} else {
		b = append(b, `,"sql":`...)
		b = strconv.AppendInt(b, e.statement.number, 10)
		if written != nil {
			b = append(b, written...)
		} else {
			b = r.appendArgs(b, args)
		}
	}
	switch {
	case err != nil:
		b = r.appendError(b, err)
		if e.query && e.rows > 0 {
			b = append(b, `,"rows":`...)
			b = strconv.AppendInt(b, e.rows, 10)
		}
	case e.do != Run:
	case e.query:
		b = append(b, `,"rows":`...)
		b = strconv.AppendInt(b, e.rows, 10)
	case e.affected >= 0:
		b = append(b, `,"affected":`...)
		b = strconv.AppendInt(b, e.affected, 10)
	}
	return append(b, "}\n"...)
}

// appendInserted appends that the application has asked for the ID that the execution which
// began at a time has inserted.
func appendInserted(b []byte, conn, at, id int64) []byte {
	b = append(b, `{"at":`...)
	b = strconv.AppendInt(b, at, 10)
	b = append(b, `,"conn":`...)
	b = strconv.AppendInt(b, conn, 10)
	b = append(b, `,"id":`...)
	b = strconv.AppendInt(b, id, 10)
	return append(b, "}\n"...)
}

func (r *Recorder) appendArgs(b []byte, args []driver.NamedValue) []byte {
	if len(args) == 0 {
		return b
	}
	b = append(b, `,"args":[`...)
	for i := range args {
		if i > 0 {
			b = append(b, ',')
		}
		a := &args[i]
		if a.Name != "" {
			b = append(b, `{"name":`...)
			b = appendString(b, a.Name)
			b = append(b, `,"value":`...)
		}
		if r.options.Values {
			b = appendValue(b, a.Value)
		} else {
			b = appendType(b, a.Value)
		}
		if a.Name != "" {
			b = append(b, '}')
		}
	}
	return append(b, ']')
}

// appendType appends the type and the length of a value.
func appendType(b []byte, v driver.Value) []byte {
	length := func(t string, n int) []byte {
		b = append(b, `{"`...)
		b = append(b, t...)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, int64(n), 10)
		return append(b, '}')
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		return length("int", intBytes(v))
	case float64:
		return length("real", 8)
	case string:
		return length("text", len(v))
	case []byte:
		if v == nil {
			return append(b, "null"...)
		}
		return length("blob", len(v))
	case bool:
		return length("bool", 1)
	case time.Time:
		b = length("time", 8)
		return appendMonotonic(b, v)
	}
	return appendOther(b, v)
}

// intBytes returns the number of bytes in which SQLite stores an integer, but 1 for 0
// and 1, which it stores in none.
func intBytes(v int64) int {
	for n := 1; n < 8; n++ {
		if bits := 8*n - 1; n != 5 && n != 7 && v >= -1<<bits && v < 1<<bits {
			return n
		}
	}
	return 8
}

// appendOther appends a value of a type that the library has by itself. It cannot be
// recorded.
func appendOther(b []byte, v any) []byte {
	b = append(b, `{"other":`...)
	b = appendString(b, reflect.TypeOf(v).String())
	return append(b, '}')
}

func appendValue(b []byte, v driver.Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendReal(b, v)
	case string:
		if utf8.ValidString(v) {
			return appendString(b, v)
		}
		return appendBytes(b, "text", []byte(v))
	case []byte:
		if v == nil {
			return append(b, "null"...)
		}
		return appendBytes(b, "blob", v)
	case bool:
		return strconv.AppendBool(b, v)
	case time.Time:
		b = append(b, `{"time":"`...)
		b = v.AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
		if zone, _ := v.Zone(); zone != "" && zone != "UTC" {
			b = append(b, `,"zone":`...)
			b = appendString(b, zone)
		}
		return appendMonotonic(append(b, '}'), v)
	}
	return appendOther(b, v)
}

// appendMonotonic adds to an object that a time has a reading of the monotonic clock, as
// time.Now returns it. Libraries that store what time.Time.String returns store it too.
func appendMonotonic(b []byte, t time.Time) []byte {
	if t == t.Round(0) { //nolint:staticcheck // compares the readings, not the instants
		return b
	}
	return append(b[:len(b)-1], `,"monotonic":true}`...)
}

// appendReal appends a real number so that it is not read as an integer.
func appendReal(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `{"real":"NaN"}`...)
	case math.IsInf(v, 0):
		b = append(b, `{"real":"`...)
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
		return append(b, `"}`...)
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendBytes(b []byte, t string, v []byte) []byte {
	b = append(b, `{"`...)
	b = append(b, t...)
	b = append(b, `":"`...)
	b = base64.StdEncoding.AppendEncode(b, v)
	return append(b, `"}`...)
}

func (r *Recorder) appendError(b []byte, err error) []byte {
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(r.options.Code(err)), 10)
	if r.options.Values { // a message may have values in it
		b = append(b, `,"message":`...)
		b = appendString(b, err.Error())
	}
	return append(b, '}')
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(s[i:])
			if n == 1 { // not UTF-8
				b = append(b, s[start:i]...)
				b = append(b, `\ufffd`...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// codeOf returns SQLite's result code of an error of a common library, or 0.
func codeOf(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		// With constant names the linker can still leave out methods that nobody calls.
		for _, m := range [...]reflect.Value{v.MethodByName("ExtendedCode"), v.MethodByName("Code")} {
			if m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
				if code, ok := integer(m.Call(nil)[0]); ok {
					return code
				}
			}
		}
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			if code, ok := integer(v.FieldByName("ExtendedCode")); ok && code != 0 {
				return code
			}
			if code, ok := integer(v.FieldByName("Code")); ok && code != 0 {
				return code
			}
		}
	}
	return 0
}

// integer returns the value of an integer of any type.
func integer(v reflect.Value) (int, bool) {
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint():
		return int(v.Uint()), true
	}
	return 0, false
}
