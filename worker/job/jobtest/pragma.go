package jobtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func pragma(t *testing.T, b *base) {
	b.script("CREATE TABLE t(x)")
	run := func(pragmas ...string) []protocol.PragmaRead {
		p := &protocol.Pragma{}
		for _, s := range pragmas {
			a, err := protocol.ParsePragma(s)
			if err != nil {
				t.Fatal(err)
			}
			p.Pragmas = append(p.Pragmas, a)
		}
		return b.must(nil, protocol.Job{Pragma: p}).Pragma
	}
	r := run("user_version", "user_version=7", "cache_size=-500", "journal_mode=WAL")
	var got []string
	for _, x := range r {
		got = append(got, fmt.Sprintf("%s %v %v %v %v", x.Name, x.Got, x.Took, x.Outlives, x.Set != nil && strings.Join(x.Later, "") == strings.Join(x.Got, "")))
	}
	want := []string{
		"user_version [] false false false", "user_version [7] true true true",
		"cache_size [-500] true false false", "journal_mode [wal] true true true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Join(r[0].Before, "") != "0" {
		t.Errorf("user_version was %v", r[0].Before)
	}
	r = run("journal_mode=nonsense")
	if r[0].Took || strings.Join(r[0].Got, "") != "wal" {
		t.Errorf("journal_mode=nonsense: %+v", r[0])
	}
}

func unknownPragma(t *testing.T, b *base) {
	b.script("CREATE TABLE t(x)")
	seven := "7"
	b.fails(protocol.Job{Pragma: &protocol.Pragma{Pragmas: []protocol.PragmaArgument{{Name: "user_version", Value: &seven}, {Name: "synchronus"}}}},
		protocol.CodeUsage, "pragma \"synchronus\"", "did you mean", "synchronous")
	b.want("PRAGMA user_version", "0") // if one pragma is wrong, the job sets none
	if _, blind := b.driver.Info().Limit("columns", "count"); blind {
		return
	}
	b.fails(protocol.Job{Pragma: &protocol.Pragma{Pragmas: []protocol.PragmaArgument{{Name: "user_version", Value: &seven}, {Name: "database_list"}}}},
		protocol.CodeUsage, "pragma \"database_list\" cannot be read here")
	b.want("PRAGMA user_version", "0")
}
