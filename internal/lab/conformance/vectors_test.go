package conformance

import (
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// vectors holds the first values of each generator. A test of a worker can compare them with the worker's
// values, to find the first difference.
type vectors struct {
	Seed     uint64         `json:"seed"`
	DataSets []plan.DataSet `json:"data_sets"` // as in a plan

	// Values holds the values of rows 0, 1, 2, …, by "set.column". Blobs are hexadecimal
	// digits. Texts and blobs are cut to 48 bytes.
	Values map[string][]any `json:"values"`
}

const (
	vectorRows  = 12
	vectorBytes = 48
)

// WriteVectors writes to out the content that docs/generated-values.json must have: the first values
// of the generators that the checks use.
func WriteVectors(out io.Writer) error {
	w, err := workload.Parse("check.yaml", []byte(workloadOf(generators...)), nil)
	if err != nil {
		return err
	}
	pl, err := w.Plan(workload.Full, nil)
	if err != nil {
		return err
	}
	gen, err := plan.NewGenerator(Seed, pl)
	if err != nil {
		return err
	}
	v := vectors{Seed: Seed, DataSets: pl.DataSets, Values: map[string][]any{}}
	for i := range pl.DataSets {
		set := &pl.DataSets[i]
		for j := range set.Columns {
			name := set.Name + "." + set.Columns[j].Name
			if set.Columns[j].Generator.Kind == plan.GenCoalesce {
				continue // only SQLite knows the column's values
			}
			var b driver.Batch
			if err := gen.FillColumns(&b, []string{name}, set.Name, 0, vectorRows); err != nil {
				return err
			}
			for r := range vectorRows {
				v.Values[name] = append(v.Values[name], plain(&b.Columns[0], set.Columns[j].Type, r))
			}
		}
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// plain returns the value in row r of a column in its JSON form.
func plain(c *driver.Column, t driver.Type, r int) any {
	switch {
	case c.Null(r):
		return nil
	case t == driver.Real:
		return c.Reals[r]
	case t == driver.Text:
		return string(beginning(c.Bytes(r)))
	case t == driver.Blob:
		return hex.EncodeToString(beginning(c.Bytes(r)))
	case t == driver.Bool:
		return c.Ints[r] != 0
	}
	return c.Ints[r]
}

func beginning(b []byte) []byte { return b[:min(len(b), vectorBytes)] }
