package workload_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// each repeats a format with the numbers 0, 1, 2, … until the result has at least the given number
// of bytes.
func each(bytes int, format string) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// large returns two texts for each name. The first text is a file with very many elements of one
// kind, or with a very long element. The second text is the problem that must be reported, or "" if
// the file is valid.
func large() map[string][2]string {
	const size = 1 << 19
	const phases = "\nphases: [{name: p, script: ANALYZE}]\n"
	set := "rows: {t: {count: 5, columns: {id: serial%s}}}" + phases
	return map[string][2]string{
		"columns":     {fmt.Sprintf(set, each(size, ", c%d: 1")), "columns of data set t: there are"},
		"data sets":   {"rows: {" + each(size, "s%d: {count: 1, columns: {a: 1}},") + "}" + phases, "rows: there are"},
		"chain":       {fmt.Sprintf(set, each(28_000, ", c%[1]d: {pick: t.c%[1]d_}")+", x: 1"), "has no column"},
		"made":        {fmt.Sprintf(set, ", a0: {text: 9}"+doubled(40)), "t.a9 is made from more than 1000 values"},
		"wide":        {fmt.Sprintf(set, ", a: {text: 900_000_000}, b: {repeat: abc, times: 300_000_000}"), "data set t has rows of up to 1800000008 bytes"},
		"long":        {fmt.Sprintf(set, `, a: {repeat: abc, times: 300_000_000}, b: {format: "%s%s", of: [a, a]}`), "t.b has up to 1800000000 bytes"},
		"nested":      {"rows: {s0: {count: 1, columns: {a: 1}}" + nested(150) + "}" + phases, "data set s21 is nested more than 20 deep"},
		"choice":      {fmt.Sprintf(set, ", a: {choice: ["+strings.Repeat("a,", size/2)+"]}"), ""},
		"inserts":     {"rows: {t: {count: 5, columns: {id: serial}}}\nphases: [{name: p, insert: [" + strings.Repeat("t,", size/2) + "]}]", "insert: data set t is there twice"},
		"unknown":     {"phases: [{name: p, insert: [" + each(size, "t%d,") + "]}]", "there are more problems than these 100"},
		"phases":      {"phases: [" + each(size, "{name: p%d, script: ANALYZE},") + "]", "phases: there are"},
		"keys":        {each(size, "k%d: 1\n"), "there are more problems than these 100"},
		"values":      {"parameters: {n: [" + each(size, "%d,") + "]}" + phases, "parameter n has"},
		"parameters":  {"parameters: {" + each(size, "n%d: 1,") + "}" + phases, "parameters: want at most 1000"},
		"operations":  {"phases: [{name: p, count: 1, mix: [" + each(size, "{name: o%d, sql: SELECT 1},") + "]}]", "operations: want at most 100"},
		"statements":  {"phases: [{name: p, count: 1, mix: [{name: o, statements: [" + strings.Repeat("SELECT 1,", size/9) + "]}]}]", "statements: there are"},
		"aliases":     {"rows: &r {t: {count: 5, columns: {a: {choice: &c [" + strings.Repeat("a,", 500_000) + "]}" + each(20_000, ", b%d: {choice: *c}") + "}}}" + phases, "the file is too large to be checked"},
		"cases":       {"parameters: {a: [" + each(3000, "%d,") + "]}\nrows: {t: {count: 5, columns: {a: {choice: [" + strings.Repeat("a,", 100_000) + "]}}}}" + phases, "the file is too large to be checked"},
		"parentheses": {fmt.Sprintf(set, "") + "parameters: {n: 1}\nscales: {full: {n: 1}}\nsettings: {cache_size: $n, busy_timeout: " + strings.Repeat("(", 100_000) + "$n" + strings.Repeat(")", 100_000) + "}", "200002 bytes are too long for a number"},
		"quoted":      {"phases: [{name: " + strings.Repeat("é", size/2) + ", script: ANALYZE}]", "of a phase: want a short one"},
		"setting":     {"settings: {" + strings.Repeat("x", 1000) + ": 1}" + phases, "unknown setting"},
		"value":       {"settings: {journal_mode: " + strings.Repeat("x", size) + "}" + phases, "journal_mode"},
		"text":        {strings.Repeat("x", workload.MaxFile+1), "want at most 4194304; a long schema goes into a .sql file"},
	}
}

// doubled returns n columns. The value of each column has two copies of the previous column's value.
func doubled(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, a%d: {format: "%%s%%s", of: [a%d, a%d]}`, i+1, i, i)
	}
	return b.String()
}

// nested returns n data sets. Each data set is nested in the previous data set.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", s%d: {per: s%d, count: 1, columns: {a: 1}}", i+1, i)
	}
	return b.String()
}

// TestLargeFiles checks that each file of the function "large" has the expected problem. The
// message of each problem must be short, and no file may have many more than 100 problems.
func TestLargeFiles(t *testing.T) {
	for name, c := range large() {
		t.Run(name, func(t *testing.T) {
			_, err := workload.Parse("x.yaml", []byte("name: x\n"+c[0]), nil)
			if c[1] == "" {
				if err != nil {
					t.Errorf("%.300v", err)
				}
				return
			}
			var problems workload.Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c[1]) {
				t.Fatalf("%.1000v: want %s", err, c[1])
			}
			if len(problems) > 101 {
				t.Errorf("%d problems", len(problems))
			}
			for _, p := range problems {
				if len(p.Message) > 900 || p.Line < 1 || p.Column < 1 {
					t.Errorf("%d:%d: %d bytes: %.100s", p.Line, p.Column, len(p.Message), p.Message)
				}
			}
		})
	}
}

// TestVisitsAreLinear counts the nodes that are visited. A file four times as large must have only
// about four times as many visits.
func TestVisitsAreLinear(t *testing.T) {
	for name, file := range map[string]func(n int) string{
		"columns": func(n int) string {
			return "rows: {t: {count: 1, columns: {id: serial" + each(n, ", c%d: {int: [1, 2]}") + "}}}\nphases: [{name: p, script: ANALYZE}]"
		},
		"data sets": func(n int) string {
			return "rows: {" + each(n, "s%d: {count: 1, columns: {a: 1}},") + "}\nphases: [{name: p, script: ANALYZE}]"
		},
		"phases": func(n int) string { return "phases: [" + each(n, "{name: p%d, script: ANALYZE},") + "]" },
	} {
		short, err := workload.Visited([]byte("name: x\n" + file(1_200)))
		if err != nil {
			t.Fatal(err)
		}
		long, err := workload.Visited([]byte("name: x\n" + file(4_800)))
		if err != nil {
			t.Fatal(err)
		}
		if growth := float64(long) / float64(short); growth > 4.2 {
			t.Errorf("%s: %.1f times as many nodes looked at in a file 4 times as large", name, growth)
		}
	}
}
