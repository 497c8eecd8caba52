package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// hostile is a text that controls a terminal, reverses the direction of writing, starts a new line,
// and is a spreadsheet formula.
const hostile = "=cmd|' /C calc'!A1\x1b]0;owned\a\x1b[31m\u009b31m\u202egnorw\u2066\r\nsqlite3perf: \t\x7f\x00\ufeff"

// color matches the control sequences that the command writes to a terminal on purpose: colors, erase
// line, and carriage return. Any other control sequence must come from hostile text.
var color = regexp.MustCompile("\x1b\\[[0-9;]*[mK]|\r")

// run1 runs the command in this process and returns its standard output and exit status. Its
// whole output must be printable.
func run1(t *testing.T, width int, args ...string) (stdout string, code int) {
	t.Helper()
	var out, messages bytes.Buffer
	env := &cli.Environment{Stdout: &out, Stderr: &messages, StdoutWidth: width, StderrWidth: width, Now: time.Now,
		Catch: func() <-chan os.Signal { return nil }}
	code = execute(t.Context(), env, args)
	for name, text := range map[string]string{"output": out.String(), "error": messages.String()} {
		if width > 0 {
			text = color.ReplaceAllString(text, "")
		}
		mustBePrintable(t, strings.Join(args, " ")+": standard "+name, text)
	}
	return out.String(), code
}

func mustBePrintable(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8: %q", what, text)
	}
	for i, r := range text {
		if r != '\n' && r != '\t' && r != ' ' && !unicode.IsPrint(r) {
			t.Errorf("%q has %U: …%q", what, r, text[max(0, i-40):min(len(text), i+40)])
			return
		}
	}
}

// spoil prepends a text to every string of a value.
func spoil(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[time.Time]() {
				spoil(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), text)
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf(text).Convert(v.Type().Key()), reflect.ValueOf(text).Convert(v.Type().Elem()))
		}
	case reflect.String:
		v.SetString(text + v.String())
	}
}

// hostileStore creates a store with a run in which every text is hostile.
func hostileStore(t *testing.T) (path string) {
	t.Helper()
	r := hostileRun()
	spoil(reflect.ValueOf(r).Elem(), hostile)
	return storedAs(t, r)
}

// hostileRun returns a run in which every kind of text is set.
func hostileRun() *result.Run {
	r := &result.Run{Version: "test", Command: []string{"run"}, Started: time.Now(), LeftOut: []result.LeftOut{{Workload: "x", Code: result.LeftOutTime}, {Driver: "x", Code: "x", Message: "x"}}, Warnings: []result.Warning{{Code: "a", Message: "b"}}}
	for i, d := range []string{"mattn", "modernc", "ncruces"} {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "w", Driver: d, Settings: driver.Settings{"journal_mode": "wal"},
			Parameters: map[string]int64{hostile: 1}, Build: map[string]string{"go": "1"}, Phases: []string{"mix"}})
		for round := 1; round <= 6; round++ {
			tr := result.Trial{
				Case: i + 1, Round: round, Order: len(r.Trials) + 1, Status: result.OK,
				Proof:    &protocol.Proof{SQLiteVersion: "3", Module: "m", Connections: []driver.Settings{{"journal_mode": "wal"}}},
				Warnings: []result.Warning{{Code: "a", Message: "b"}},
				Samples: []result.Sample{{Phase: "mix", WallNS: int64(1e6 + i), Operations: 10,
					Latency: []latency.Summary{{Operation: "op", Count: 10}}, Errors: []protocol.ErrorCount{{Name: "SQLITE_BUSY", Count: 1}}}},
			}
			if i == 2 {
				tr.Reason = &protocol.Reason{Code: "c", Phase: "mix", Message: "m", Detail: "d"}
			}
			r.Trials = append(r.Trials, tr)
		}
	}
	return r
}

// storedAs stores a run in a new store, and returns the store's path. Before that, it restores the run's
// statuses and metrics, which the function "spoil" may have made invalid.
func storedAs(t *testing.T, r *result.Run) (path string) {
	t.Helper()
	for i := range r.Trials {
		r.Trials[i].Status = result.OK
		if r.Trials[i].Reason != nil {
			r.Trials[i].Status = result.Failed
		}
		for j := range r.Trials[i].Samples {
			r.Trials[i].Samples[j].Metric = "time/op"
		}
	}
	path = filepath.Join(t.TempDir(), "results.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHostileRun(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	path := hostileStore(t)
	for _, width := range []int{0, 100} {
		run1(t, width, "runs", "--store", path)
		for _, format := range report.Formats() {
			file := filepath.Join(t.TempDir(), "out")
			out, code := run1(t, width, "show", "1", "--store", path, "--format", format)
			if _, c := run1(t, width, "show", "1", "--store", path, "--format", format, "-o", file); code != cli.ExitOK || c != cli.ExitOK {
				t.Fatalf("%s: exit status %d, %d", format, code, c)
			}
			written, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			mustBePrintable(t, format+" in a file", string(written))
			switch format {
			case "json":
				var j report.JSON
				if err := json.Unmarshal([]byte(out), &j); err != nil || j.Run.Cases[0].Driver != hostile+"mattn" {
					t.Errorf("a text has changed: %q, %v", j.Run.Cases[0].Driver, err)
				}
			case "csv":
				records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
				if err != nil || len(records) < 18 {
					t.Fatalf("%d records, %v", len(records), err)
				}
				for _, record := range records {
					for _, field := range record {
						if field != "" && strings.ContainsAny(field[:1], "=+-@\t\r") {
							t.Fatalf("a spreadsheet would take this for a formula: %q", field)
						}
					}
				}
			}
		}
	}
}

// TestHostileSite checks that the texts of a store become neither markup nor names of files in a site.
func TestHostileSite(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	r := hostileRun()
	spoil(reflect.ValueOf(r).Elem(), hostile+`../../<svg onload=alert(1)>"'&`)
	path, dir := storedAs(t, r), filepath.Join(t.TempDir(), "site")
	if _, code := run1(t, 0, "site", dir, "--store", path); code != cli.ExitOK {
		t.Fatalf("exit status %d", code)
	}
	name := regexp.MustCompile(`^(assets|badges|drivers|runs|[a-z0-9-]+\.(html|json|svg|css|js))$`)
	files := 0
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		if !name.MatchString(d.Name()) {
			t.Errorf("file %q", d.Name())
		}
		if d.IsDir() {
			return nil
		}
		files++
		data, err := os.ReadFile(file)
		if filepath.Ext(file) != ".json" { // JSON escapes what is not printable
			mustBePrintable(t, file, string(data))
		}
		if strings.Contains(string(data), "<svg onload") {
			t.Errorf("%s has markup of the store", file)
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestHostileArguments(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("XDG_CACHE_HOME", here)
	t.Setenv("XDG_DATA_HOME", here)
	if err := link("good", here); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(here, "good")
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return -1
		}
		return r
	}, hostile)
	if err := os.Mkdir(filepath.Join(here, name), 0o755); err != nil {
		t.Fatal(err)
	}
	evil := filepath.Join(here, name+".db")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(here, "plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := `"` + strings.ReplaceAll(name, `"`, "") + `"`
	if _, err := db.Exec(`CREATE TABLE bench (` + quoted + ` INT); CREATE TABLE ` + quoted + ` (ID INT PRIMARY KEY, rand TEXT, hash TEXT);
		INSERT INTO ` + quoted + ` VALUES (1, '` + strings.ReplaceAll(name, "'", "") + `', 'x')`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	data, err := os.ReadFile(filepath.Join(here, "plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(evil, data, 0o644); err != nil {
		t.Fatal(err)
	}
	workload := filepath.Join(here, name+".yaml")
	text, err := json.Marshal(hostile) // JSON is YAML too
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		workload:                              "name: evil\nabout: " + string(text) + "\nphases:\n  - {name: a, about: " + string(text) + ", script: SELECT 1}\n",
		filepath.Join(here, "name.yaml"):      "name: " + string(text) + "\nphases: []\n",
		filepath.Join(here, "sql.yaml"):       "name: sql\nabout: x\nphases:\n  - {name: a, script: " + string(text) + "}\n",
		filepath.Join(here, "column.yaml"):    "name: sql\nabout: x\nphases:\n  - {name: a, query: {sql: " + strings.Replace(string(text), "=", "SELECT \\\"x", 1) + "}}\n",
		filepath.Join(here, "raw.yaml"):       hostile,
		filepath.Join(here, "parameter.yaml"): "name: p\nabout: x\nparameters: {" + string(text) + ": 1}\nphases: []\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{hostile}, {"--" + hostile}, {"run", hostile}, {"run", "--drivers", hostile}, {"run", "--drivers", evil},
		{"run", "--workloads", hostile}, {"run", "--set", hostile}, {"run", "--set", "journal_mode=" + hostile}, {"run", "--param", hostile + "=1"},
		{"run", "--dsn", "?" + hostile}, {"run", "--rounds", hostile}, {"run", "--scale", hostile}, {"run", "--seed", hostile}, {"run", "--precision", hostile},
		{"run", "--dir", hostile}, {"run", "--store", hostile + "/x/y/z"}, {"run", "-o", hostile + "/x"}, {"run", "--format", hostile},
		{"run", "--source", hostile}, {"reproduce", hostile}, {"show", hostile}, {"show", "1", "--store", evil}, {"runs", "--store", evil},
		{"drivers", "--source", hostile}, {"check", hostile}, {"check", evil},
		{"workloads", hostile}, {"workloads", workload}, {"workloads", filepath.Join(here, "name.yaml")}, {"workloads", filepath.Join(here, "sql.yaml")},
		{"workloads", filepath.Join(here, "column.yaml")}, {"workloads", filepath.Join(here, "raw.yaml")}, {"workloads", filepath.Join(here, "parameter.yaml")},
		{"run", "--drivers", good, "--workloads", workload, "--rounds", "6", "--dir", filepath.Join(here, name)},
		{"generate", "--driver", good, "--db", evil, "--table", hostile}, {"generate", "--driver", good, "--db", evil, "--force", "-r", "10", "--table", strings.ReplaceAll(name, `"`, "")},
		{"bench", "--driver", good, "--db", evil}, {"bench", "--driver", good, "--db", evil, "--table", strings.ReplaceAll(name, `"`, "")}, {"bench", "--driver", good, "--db", evil, "--format", "json"},
		{"bench", "--driver", good, "--db", hostile}, {"bench", "--driver", evil, "--db", evil},
		{"pragma", "--driver", good, "--db", evil, hostile}, {"pragma", "--driver", good, "--db", evil, "user_version=" + hostile}, {"pragma", "--driver", good, "--db", evil, "journal_mode", "--format", "json"},
		{"concurrent", "--driver", good, "--db", evil, "--table", hostile, "-d", "1s"}, {"paginate", "--driver", good, "--db", evil, "--table", hostile},
	} {
		run1(t, 0, args...)
		run1(t, 100, args...)
	}
}
