package study

import (
	"embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// published has the figures of the studies as they were published, one file for each study.
//
//go:embed published/*.tsv
var published embed.FS

type figures []map[string]string

// publishedFigures reads the file of a study. It panics if the file has an error, because the file
// is part of the program.
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

func (f figures) where(pairs ...string) figures {
	return slices.DeleteFunc(slices.Clone(f), func(row map[string]string) bool {
		for pair := range slices.Chunk(pairs, 2) {
			if row[pair[0]] != pair[1] {
				return true
			}
		}
		return false
	})
}

func (f figures) values(column string) []string {
	list := document.Map(f, func(row map[string]string) string { return row[column] })
	slices.Sort(list)
	return slices.Compact(list)
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Errorf("published figures: %w", err))
	}
	return n
}

// number returns the value of a column in the first row, or nil if it is missing or empty.
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
