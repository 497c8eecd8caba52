package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// answer is one line of a worker's output, decoded from JSON.
type answer map[string]any

func (a answer) is(typ, phase string) bool {
	if a["type"] != typ {
		return false
	}
	s, _ := a["sample"].(map[string]any)
	return s == nil || phase == "" || s["phase"] == phase
}

// lie describes a false answer of a worker, and the check that must find it.
type lie struct {
	check string                         // name of the check that finds the lie
	words string                         // part of the check's message
	tell  func(a answer) (told []answer) // changes an answer into several; if it returns nil, the answer is left out
	open  func(driver.Settings) error    // changes the settings with which the database is opened
	exit  int                            // exit status of the worker
	junk  string                         // text printed before the first answer
	asked [2]string                      // a part of the request, and the text that the worker reads instead
}

// sample returns a lie that changes the value of a key in a phase's sample. If change returns nil, the lie
// removes the key.
func sample(phase, key string, change func(old any) any) func(answer) []answer {
	return func(a answer) []answer {
		if a.is("sample", phase) && a["sample"] != nil {
			s := a["sample"].(map[string]any)
			if v := change(s[key]); v == nil {
				delete(s, key)
			} else {
				s[key] = v
			}
		}
		return []answer{a}
	}
}

// to(v) returns a function that replaces any value by v.
func to(v any) func(any) any { return func(any) any { return v } }

// times returns a function that multiplies a number by n.
func times(n float64) func(any) any { return func(old any) any { return int64(old.(float64) * n) } }

// tables returns a lie that changes the entry for the first table in an answer of type inserted.
func tables(change func(map[string]any)) func(answer) []answer {
	return func(a answer) []answer {
		if a.is("inserted", "") {
			change(a["tables"].([]any)[0].(map[string]any))
		}
		return []answer{a}
	}
}

// latencyOf returns a lie that changes a key of the latency of the mix's first operation.
func latencyOf(key string, change func(any) any) func(answer) []answer {
	return sample("mix", "latency", func(old any) any {
		list := old.([]any)
		l := list[0].(map[string]any)
		if v := change(l[key]); v == nil {
			delete(l, key)
		} else {
			l[key] = v
		}
		return list
	})
}

// without returns a lie that leaves out all answers of one type. Of answers with samples, it leaves out only
// the answers with a sample of the given phase.
func without(typ, phase string) func(answer) []answer {
	return func(a answer) []answer {
		if a.is(typ, phase) {
			return nil
		}
		return []answer{a}
	}
}

// connections returns a lie that changes the connections of the worker's proof.
func connections(change func([]any) []any) func(answer) []answer {
	return func(a answer) []answer {
		if p, ok := a["proof"].(map[string]any); ok && a["type"] == "ready" {
			p["connections"] = change(p["connections"].([]any))
		}
		return []answer{a}
	}
}

// readBack returns a lie that makes every connection report that a setting has this value.
func readBack(name, value string) func(answer) []answer {
	return func(a answer) []answer {
		list, _ := a["connections"].([]any)
		if p, ok := a["proof"].(map[string]any); ok {
			list, _ = p["connections"].([]any)
		}
		for _, c := range list {
			c.(map[string]any)[name] = value
		}
		return []answer{a}
	}
}

// not(name) returns a function that removes the setting name, so that the database is opened
// without it.
func not(name string) func(driver.Settings) error {
	return func(s driver.Settings) error { delete(s, name); return nil }
}

// unfailed makes the mix's sample report that no operation failed.
func unfailed(a answer) []answer {
	if a.is("sample", "mix") && a["sample"] != nil {
		s := a["sample"].(map[string]any)
		delete(s, "failed")
		delete(s, "errors")
		for _, l := range s["latency"].([]any) {
			delete(l.(map[string]any), "failed")
		}
	}
	return []answer{a}
}

const (
	aLock    = "mix/failures and retries under a lock"
	aMix     = "mix/operations and their order"
	anInsert = "insert/transaction: one"
	aQuery   = "query/each way"
	cold     = "settings/cold_caches=on"
)

var lies = map[string]lie{
	"thousand times the operations": {check: aMix, words: "phase mix: operations is 500000: want 500, its count", tell: sample("mix", "operations", times(1000))},
	"fewer operations":              {check: aMix, words: "phase mix: operations is 250: want 500", tell: sample("mix", "operations", times(0.5))},
	"operations of an insert":       {check: anInsert, words: "phase insert: operations is", tell: sample("insert", "operations", to(1))},
	"seven rows":                    {check: anInsert, words: "phase insert: rows is 7: expected 1010", tell: sample("insert", "rows", to(7))},
	"an insert that nobody counts":  {check: anInsert, words: `answered "settings" without having answered "inserted" for phase insert`, tell: without("inserted", "")},
	"a row less in the table":       {check: anInsert, words: "phase insert: tables[0].rows is", tell: tables(func(t map[string]any) { t["rows"] = t["rows"].(float64) - 1 })},
	"other rows in the table":       {check: anInsert, words: "phase insert: tables[0].checksum is 000000000000…: expected", tell: tables(func(t map[string]any) { t["checksum"] = strings.Repeat("0", 64) })},
	"rows that are not hashed":      {check: anInsert, words: `phase insert: tables[0].checksum is "": want 64 lower-case`, tell: tables(func(t map[string]any) { delete(t, "checksum") })},
	"fewer rows in the loaded database": {check: aQuery, words: "the loaded database: tables[0].rows is 119: expected 120 in t", tell: func(a answer) []answer {
		if a["type"] == "loaded" {
			t := a["tables"].([]any)[0].(map[string]any)
			t["rows"] = t["rows"].(float64) - 1
		}
		return []answer{a}
	}},
	"a loaded database that nobody counts": {check: aQuery, words: `answered "done" without having answered "loaded"`, tell: without("loaded", "")},
	"another table in the loaded database": {check: aQuery, words: `the loaded database: tables[0].table is "other": want "t"`, tell: func(a answer) []answer {
		if a["type"] == "loaded" {
			a["tables"].([]any)[0].(map[string]any)["table"] = "other"
		}
		return []answer{a}
	}},
	"another SQLite": {check: anInsert, words: `sqlite_version of the proof is "3.99.0": want "3.`, tell: func(a answer) []answer {
		if p, ok := a["proof"].(map[string]any); ok {
			p["sqlite_version"] = "3.99.0"
		}
		return []answer{a}
	}},
	"rows of a query":            {check: aQuery, words: "phase once: rows is", tell: sample("once", "rows", times(2))},
	"a nanosecond":               {check: aMix, words: "phase mix: wall_ns is 1: want at least", tell: sample("mix", "wall_ns", to(1))},
	"a nanosecond for an insert": {check: anInsert, words: "phase insert: wall_ns is 1: want at least", tell: sample("insert", "wall_ns", to(1))},
	"an hour":                    {check: aMix, words: "phase mix: wall_ns is 3600000000000", tell: sample("mix", "wall_ns", to(int64(3600e9)))},
	"less than the duration":     {check: "mix/duration", words: "phase mix: wall_ns is", tell: sample("mix", "wall_ns", times(0.01))},
	"negative time":              {check: aMix, words: "phase mix: wall_ns is -5", tell: sample("mix", "wall_ns", to(-5))},
	"a value of another class": {check: "failures/an integer in a text column", words: `the code "error" (column 1 is declared text and holds INTEGER in row 1`, tell: func(a answer) []answer {
		if r, ok := a["reason"].(map[string]any); ok {
			r["code"] = "error"
		}
		return []answer{a}
	}},
	"another column": {check: "failures/a text in an int column", words: "failed with reason.column 2: want 1", tell: func(a answer) []answer {
		if r, ok := a["reason"].(map[string]any); ok {
			r["column"] = 2
		}
		return []answer{a}
	}},
	"another code of SQLite": {check: "failures/an error of SQLite", words: "failed with reason.sqlite 5: want the extended code of the error", tell: func(a answer) []answer {
		if r, ok := a["reason"].(map[string]any); ok {
			r["sqlite"] = 5
		}
		return []answer{a}
	}},
	"negative instructions":          {check: aMix, words: "phase mix: instructions is -1: want a number from 0", tell: sample("mix", "instructions", to(-1))},
	"negative allocations":           {check: aMix, words: "phase mix: allocs is -1: want a number from 0", tell: sample("mix", "allocs", to(-1))},
	"memory without end":             {check: aMix, words: "phase mix: peak_rss_bytes is", tell: sample("mix", "peak_rss_bytes", to(int64(1)<<60))},
	"failures without errors":        {check: aMix, words: "phase mix: errors counts 0 in all: want 3", tell: sample("mix", "failed", to(3))},
	"errors without failures":        {check: aMix, words: "phase mix: errors counts 2 in all: want 0", tell: sample("mix", "errors", to([]any{map[string]any{"code": 5, "name": "SQLITE_BUSY", "count": 2, "wait_ns": 1}}))},
	"retries that are not asked for": {check: aMix, words: "phase mix: retries is 9: want at most 0", tell: sample("mix", "retries", to(9))},
	"no latency":                     {check: aMix, words: "phase mix: latency has 0 entries: want 3, of read, add, move", tell: sample("mix", "latency", to(nil))},
	"no histogram":                   {check: aMix, words: "phase mix: latency[0].histogram", tell: latencyOf("histogram", to(nil))},
	"a broken histogram":             {check: aMix, words: "phase mix: latency[0].histogram cannot be read", tell: latencyOf("histogram", to("HISTFAAAAA"))},
	"a truncated histogram":          {check: aMix, words: "phase mix: latency[0].histogram", tell: latencyOf("histogram", func(h any) any { return h.(string)[:len(h.(string))/2] })},
	"another count":                  {check: aMix, words: "phase mix: latency[0].count is 342: want 341, as the seed chooses", tell: latencyOf("count", func(n any) any { return n.(float64) + 1 })},
	"another operation":              {check: aMix, words: `phase mix: latency[0].operation is "write": want "read"`, tell: latencyOf("operation", to("write"))},
	"no checksum":                    {check: aQuery, words: "phase once: checksum is missing: want 64 lower-case hexadecimal digits", tell: sample("once", "checksum", to(nil))},
	"no checksum of a mix":           {check: aMix, words: "phase mix: checksum is missing", tell: sample("mix", "checksum", to(nil))},
	"a truncated checksum":           {check: aQuery, words: "of 12 characters: want 64 lower-case hexadecimal digits", tell: sample("once", "checksum", func(s any) any { return s.(string)[:12] })},
	"an upper-case checksum":         {check: aQuery, words: "want 64 lower-case hexadecimal digits", tell: sample("once", "checksum", func(s any) any { return strings.ToUpper(s.(string)) })},
	"another checksum":               {check: aQuery, words: "phase once: checksum is", tell: sample("once", "checksum", to(strings.Repeat("0", 64)))},
	"more executions than asked":     {check: aQuery, words: "phase once: executions is 2: want at most 0", tell: sample("once", "executions", to(2))},
	"another checksum of a mix":      {check: aMix, words: "phase mix: sample.checksum is 000", tell: sample("mix", "checksum", to(strings.Repeat("0", 64)))},
	"CPU time of a hundred cores":    {check: aMix, words: "user_ns and system_ns are", tell: sample("mix", "user_ns", to(int64(900e9)))},
	"another phase":                  {check: aQuery, words: "a sample of another phase", tell: sample("once", "phase", to("twice"))},
	"a phase too few":                {check: aQuery, words: `began phase "for-each" before it sent the sample of "once"`, tell: without("sample", "once")},
	"the last phase is left out":     {check: aQuery, words: "measured", tell: without("sample", "empty")},
	"ready twice": {check: aQuery, words: `answered "ready" twice`, tell: func(a answer) []answer {
		if a["type"] == "ready" {
			return []answer{a, a}
		}
		return []answer{a}
	}},
	"no settings after the phases": {check: aQuery, words: "settings", tell: without("settings", "")},
	"a proof too few":              {check: "settings/pool_size=4", words: "proves the settings of 3 connections, with a pool of 4", tell: connections(func(c []any) []any { return c[:3] })},
	"a proof without a setting": {check: "settings/synchronous=off", words: "synchronous", tell: connections(func(c []any) []any {
		delete(c[0].(map[string]any), "synchronous")
		return c
	})},
	"a journal mode that is not in force": {check: "settings/journal_mode=wal", words: "journal_mode: the worker read back wal, and the header of the database says not wal", tell: readBack("journal_mode", "wal"), open: not("journal_mode")},
	"a page size that is not in force":    {check: "settings/page_size=8192", words: "page_size: the worker read back 8192, and the header of the database says 4096", tell: readBack("page_size", "8192"), open: not("page_size")},
	"caches of which nothing is said":     {check: cold, words: "phase query: caches is missing", tell: sample("query", "caches", to(nil))},
	"caches that are not dropped": {check: cold, words: "phase query: the worker read", asked: [2]string{`"cold_caches":"on"`, `"cold_caches":"off"`}, tell: func(a answer) []answer {
		a = sample("query", "caches", to(map[string]any{"file_bytes": 4 << 20, "cached_bytes": 0}))(a)[0]
		return readBack("cold_caches", "on")(a)
	}},
	"nothing failed":           {check: aLock, words: "phase mix: failed is 0: want more", tell: unfailed},
	"nothing was repeated":     {check: aLock, words: "phase mix: retries is 0: want at least", tell: sample("mix", "retries", to(nil))},
	"another type":             {check: aQuery, words: `answered "hello" before "ready"`, tell: func(a answer) []answer { return []answer{{"type": "hello"}} }},
	"exits badly":              {check: aQuery, words: "exit status 3", exit: 3},
	"a line that is no answer": {check: aQuery, words: "not understood", junk: "Loading …"},
}

// TestLies checks that each lie of a worker makes the right check fail, with a message that describes the lie.
func TestLies(t *testing.T) {
	for name, l := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := as(t, "none")
			s.Worker = as(t, name).Worker
			got := failures(t, s, func(check string) bool { return check == l.check })
			if words := got[l.check]; !strings.Contains(words, l.words) {
				t.Errorf("%s: %q: want %q", l.check, words, l.words)
			}
		})
	}
}

// told runs a correct worker and copies its answers to standard output. The lie with this name changes the
// answers, except the answers to describe requests and to the trial that runs before the first check. If
// the lie has a function "open", the worker opens databases with changed settings.
func told(name string, d driver.Driver) {
	l, ok := lies[name]
	if !ok {
		panic("no lie " + name)
	}
	request, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	if err != nil {
		os.Exit(9)
	}
	first := bytes.Contains(request, []byte(`"smoke"`)) || bytes.Contains(request, []byte(`"describe"`))
	if l.asked[0] != "" && !first {
		request = bytes.ReplaceAll(request, []byte(l.asked[0]), []byte(l.asked[1]))
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(r, l, first)
	}()
	if l.open != nil {
		d = &changed{d, l.open}
	}
	stays, _ := io.Pipe() // keeps the worker's input open until the worker is done
	err = worker.Serve(context.Background(), d, io.MultiReader(bytes.NewReader(request), stays), w)
	w.Close()
	<-done
	if err != nil {
		os.Exit(9)
	}
	if !first {
		os.Exit(l.exit)
	}
}

// pass copies answers from r to standard output. Unless honest is set, it applies the lie to each answer.
func pass(r io.Reader, l lie, honest bool) {
	out := json.NewEncoder(os.Stdout)
	if l.junk != "" && !honest {
		_, _ = os.Stdout.WriteString(l.junk + "\n")
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			os.Exit(9)
		}
		list := []answer{a}
		if !honest && l.tell != nil {
			list = l.tell(a)
		}
		for _, a := range list {
			if err := out.Encode(a); err != nil {
				os.Exit(9)
			}
		}
	}
}
