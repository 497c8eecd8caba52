package explorer

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// A store may come from somebody else, and its texts may have any length. So answers of the API are
// cut: texts to maxText characters, and lists of names and numbers to maxNames elements. The tags
// `clip` and `most` of a field set other limits, of characters and of elements. `clip:"-"` means no
// limit.
const (
	maxText  = 300
	maxNames = 200
)

// marshal returns the JSON of an answer of the API, with texts cut to maxText characters and lists
// to maxNames elements.
func marshal(v any) ([]byte, error) {
	return json.Marshal(clipped(reflect.ValueOf(v), maxText, 0).Interface())
}

// clipped returns a copy of a value in which texts have at most as many characters as "chars" says. If
// the parameter "most" is above 0, it is the greatest number of elements of a list. If it is 0, only
// lists of type []string and []int64 are cut, to maxNames elements.
func clipped(v reflect.Value, chars, most int) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(document.Cut(v.String(), chars))
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(clipped(v.Elem(), chars, most))
	case reflect.Slice:
		n := v.Len()
		if kind := v.Type().Elem().Kind(); most == 0 && (kind == reflect.String || kind == reflect.Int64) {
			most = maxNames
		}
		if most > 0 {
			n = min(n, most)
		}
		out.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			out.Index(i).Set(clipped(v.Index(i), chars, 0))
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(clipped(v.Index(i), chars, 0))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(clipped(it.Key(), chars, 0), clipped(it.Value(), chars, 0))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case !f.IsExported() || f.Type.Kind() < reflect.Array || f.Tag.Get("clip") == "-": // the field contains no text, or has no limit
			default:
				limit := func(tag string, usual int) int {
					if n, err := strconv.Atoi(f.Tag.Get(tag)); err == nil {
						return n
					}
					return usual
				}
				out.Field(i).Set(clipped(v.Field(i), limit("clip", chars), limit("most", 0)))
			}
		}
	default:
		return v
	}
	return out
}

func clip(s string) string { return document.Cut(s, maxText) }
