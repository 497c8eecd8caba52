package plan

import (
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The type "given" has the values of a list, as read from the plan. Texts and blobs are not in it,
// but in the field "fixed" of the column.
type given struct {
	n     int64
	nulls []bool // whether each value is NULL; nil if no value is NULL
	ints  []int64
	reals []float64
}

// The method "at" returns the index in the list of the value that row i has.
func (g *given) at(i int64) int64 { return i % g.n }

func (g *given) null(i int64) bool { return g.nulls != nil && g.nulls[g.at(i)] }

// readList reads the values of a list. Its errors contain the number of a bad value, but not the
// value itself, which may be private.
func (c *column) readList() error {
	list := c.gen.List
	if len(list) == 0 {
		return c.bad("of no values")
	}
	c.given = &given{n: int64(len(list))}
	if c.typ == driver.Text || c.typ == driver.Blob {
		c.fixed = []byte{}
	}
	for i, raw := range list {
		if string(raw) == "null" {
			if c.given.nulls == nil {
				c.given.nulls = make([]bool, len(list))
			}
			c.given.nulls[i] = true
		}
		if c.readValue(raw) != nil {
			return c.bad("value %d of %d is not %s", i+1, len(list), c.typ)
		}
	}
	if int64(len(c.fixed)) > math.MaxUint32 {
		return c.bad("more than 4 GiB of values")
	}
	return nil
}

// readValue reads the next value of a list. For NULL it adds a zero value, because json.Unmarshal
// leaves a variable unchanged if the JSON is null.
func (c *column) readValue(raw json.RawMessage) (err error) {
	switch c.typ {
	case driver.Real:
		var x float64
		err = json.Unmarshal(raw, &x)
		c.given.reals = append(c.given.reals, x)
	case driver.Text, driver.Blob:
		var s string
		err = json.Unmarshal(raw, &s)
		b := []byte(s)
		if err == nil && c.typ == driver.Blob {
			b, err = hex.DecodeString(s)
		}
		c.spans = append(c.spans, driver.Span{Off: uint32(len(c.fixed)), Len: uint32(len(b))})
		c.fixed = append(c.fixed, b...)
	default:
		var n int64
		err = json.Unmarshal(raw, &n)
		c.given.ints = append(c.given.ints, n)
	}
	return err
}
