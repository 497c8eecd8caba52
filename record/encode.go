package record

import (
	"bytes"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// Format and Version identify a recording in its first line.
const (
	Format  = "sqlite3perf-recording"
	Version = 1
)

// event is the execution of a statement, or another action. It is written as one line.
type event struct {
	at, took  int64
	tx        int64
	do        Action
	statement statement
	query     bool
	rows      int64
	affected  int64
}

// appendInt appends a member of a JSON object. The parameter "name" is the JSON text before the
// member's value, such as `,"took":`, and v is the value.
func appendInt(b []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(b, name...), v, 10)
}

func appendHeader(b []byte, began time.Time, values bool) []byte {
	b = appendInt(b, `{"format":"`+Format+`","version":`, Version)
	b = append(b, `,"began":"`...)
	b = began.UTC().AppendFormat(b, time.RFC3339Nano)
	args := "types"
	if values {
		args = "values"
	}
	b = append(b, `","args":"`...)
	b = append(b, args...)
	return append(b, "\"}\n"...)
}

func appendStatement(b []byte, number int64, sql string, prepared bool) []byte {
	b = appendInt(b, `{"sql":`, number)
	b = append(b, `,"text":`...)
	b = appendString(b, sql)
	if prepared {
		b = append(b, `,"prepared":true`...)
	}
	return append(b, "}\n"...)
}

// appendEvent appends an event's line. If the parameter "written" is not nil, it has the SQL
// parameters as JSON. Otherwise args has the SQL parameters.
func (r *Recorder) appendEvent(b []byte, conn int64, e *event, args []driver.NamedValue, written []byte, err error) []byte {
	b = appendInt(b, `{"at":`, e.at)
	b = appendInt(b, `,"took":`, e.took)
	b = appendInt(b, `,"conn":`, conn)
	if e.tx != 0 {
		b = appendInt(b, `,"tx":`, e.tx)
	}
	if e.do != Run {
		b = append(b, `,"do":"`...)
		b = append(b, e.do...)
		b = append(b, '"')
	} else {
		b = appendInt(b, `,"sql":`, e.statement.number)
		if written != nil {
			b = append(b, written...)
		} else {
			b = r.appendArgs(b, args)
		}
	}
	if err != nil {
		b = r.appendError(b, err)
	}
	switch {
	case e.do != Run:
	case e.query && (err == nil || e.rows > 0):
		b = appendInt(b, `,"rows":`, e.rows)
	case !e.query && err == nil && e.affected >= 0:
		b = appendInt(b, `,"affected":`, e.affected)
	}
	return append(b, "}\n"...)
}

// appendInserted appends a line with an inserted ID that the application asked for. The parameter
// "at" is the time at which the INSERT of the row began.
func appendInserted(b []byte, conn, at, id int64) []byte {
	b = appendInt(b, `{"at":`, at)
	b = appendInt(b, `,"conn":`, conn)
	b = appendInt(b, `,"id":`, id)
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
		if blob, ok := a.Value.([]byte); a.Value == nil || ok && blob == nil {
			b = append(b, "null"...)
		} else if r.options.Values {
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

// appendType appends the type and length of a value that is not NULL.
func appendType(b []byte, v driver.Value) []byte {
	length := func(t string, n int) []byte {
		b = append(b, `{"`...)
		b = append(b, t...)
		return append(appendInt(b, `":`, int64(n)), '}')
	}
	switch v := v.(type) {
	case int64:
		return length("int", intBytes(v))
	case float64:
		return length("real", 8)
	case string:
		return length("text", len(v))
	case []byte:
		return length("blob", len(v))
	case bool:
		return length("bool", 1)
	case time.Time:
		b = length("time", 8)
		return appendMonotonic(b, v)
	}
	return appendOther(b, v)
}

// intBytes returns the number of bytes in which SQLite stores an integer. For 0 and 1, which
// SQLite stores in no bytes, it returns 1.
func intBytes(v int64) int {
	for n := 1; n < 8; n++ {
		if bits := 8*n - 1; n != 5 && n != 7 && v >= -1<<bits && v < 1<<bits {
			return n
		}
	}
	return 8
}

// appendOther appends the type of a value whose type only the library knows. The value cannot be
// recorded.
func appendOther(b []byte, v any) []byte {
	b = append(b, `{"other":`...)
	b = appendString(b, reflect.TypeOf(v).String())
	return append(b, '}')
}

// appendValue appends a value that is not NULL.
func appendValue(b []byte, v driver.Value) []byte {
	switch v := v.(type) {
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

// appendMonotonic adds a mark to a JSON object if its time has a reading of the monotonic clock,
// as results of time.Now have. Some libraries store the result of time.Time.String, which
// includes the reading.
func appendMonotonic(b []byte, t time.Time) []byte {
	if t == t.Round(0) { //nolint:staticcheck // compares the readings, not the instants
		return b
	}
	return append(b[:len(b)-1], `,"monotonic":true}`...)
}

// appendReal appends a real number in a form that [Read] does not take for an integer.
func appendReal(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b = append(b, `{"real":"`...)
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
		return append(b, `"}`...)
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if bytes.ContainsAny(b[start:], ".e") {
		return b
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
	b = appendInt(b, `,"error":{"code":`, int64(r.options.Code(err)))
	if r.options.Values { // an error message may contain values
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

// codeOf returns SQLite's result code in an error of a common library, or 0.
func codeOf(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		// The names of the methods are constants, so that the linker can leave out methods that are
		// never called.
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
			for _, name := range []string{"ExtendedCode", "Code"} {
				if code, ok := integer(v.FieldByName(name)); ok && code != 0 {
					return code
				}
			}
		}
	}
	return 0
}

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
