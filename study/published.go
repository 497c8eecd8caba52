package study

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

// The figures that the studies published, one file each, as they were published.
//
//go:embed published/*.tsv
var published embed.FS

// figures is a file of published figures: by row, by column.
type figures []map[string]string

// publishedFigures reads the file of a study; it is part of the program, so that
// an error in it is a fault of the program.
func publishedFigures(study string) figures {
	f, err := published.Open("published/" + study + ".tsv")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		panic(fmt.Errorf("published figures of %s: %w", study, err))
	}
	var list figures
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, v := range row {
			m[rows[0][i]] = v
		}
		list = append(list, m)
	}
	return list
}

// where returns the rows in which the columns have these values: name, value, …
func (f figures) where(pairs ...string) figures {
	var list figures
	for _, row := range f {
		ok := true
		for i := 0; i < len(pairs); i += 2 {
			ok = ok && row[pairs[i]] == pairs[i+1]
		}
		if ok {
			list = append(list, row)
		}
	}
	return list
}

// number reads a whole number of a published table.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Errorf("published figures: %w", err))
	}
	return n
}

// number returns a column of the first row, nil where there is none or it is
// empty.
func (f figures) number(column string) *float64 {
	if len(f) == 0 || f[0][column] == "" {
		return nil
	}
	v, err := strconv.ParseFloat(f[0][column], 64)
	if err != nil {
		panic(fmt.Errorf("published figures: column %s: %w", column, err))
	}
	return &v
}
