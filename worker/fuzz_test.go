package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// idle is a driver without a database. Every query returns one row. Like a library, the driver
// reads all parameters.
type idle struct{}

func (idle) Info() driver.Info { return newFake().Info() }
func (idle) Open(context.Context, string, driver.Settings) (driver.DB, error) {
	return idle{}, nil
}
func (idle) Conn(context.Context) (driver.Conn, error) { return idle{}, nil }
func (idle) Begin(context.Context) (driver.Tx, error)  { return idleTx{}, nil }
func (idle) Script(context.Context, string) error      { return nil }
func (idle) Close() error                              { return nil }
func (idle) Prepare(_ context.Context, st driver.Statement) (driver.Stmt, error) {
	row := make(driver.Row, len(st.Columns))
	for i := range row {
		row[i] = driver.Cell{Text: "ok"}
	}
	return idleStmt{row}, nil
}

type idleTx struct{}

func (idleTx) Stmt(_ context.Context, st driver.Stmt) (driver.Stmt, error) { return st, nil }
func (idleTx) Commit(context.Context) error                                { return nil }
func (idleTx) Rollback(context.Context) error                              { return nil }

type idleStmt struct{ row driver.Row }

func (idleStmt) Close() error { return nil }

func (idleStmt) Exec(_ context.Context, b *driver.Batch, lo, hi int) error {
	for r := lo; r < hi && b != nil; r++ {
		read(b, r)
	}
	return nil
}

func (s idleStmt) ExecResult(ctx context.Context, b *driver.Batch, r int) (driver.Result, error) {
	return nil, s.Exec(ctx, b, r, r+1)
}

func (s idleStmt) Query(_ context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	if b != nil {
		read(b, r)
	}
	return visit(s.row)
}

func read(b *driver.Batch, r int) {
	for i := range b.Columns {
		b.Columns[i].Any(r)
	}
}

// change replaces one value of a decoded JSON document. The parameter "at" is the number of this
// value. Values are counted from 1, with the keys of each object in sorted order. If the value is a
// number, change replaces it by the parameter "number". It replaces a string by another string of
// the document, and any other value by null.
func change(doc any, at uint16, number int64) any {
	var texts []string
	n := 0
	var walk func(v any, replace bool) any
	walk = func(v any, replace bool) any {
		n++
		if replace && n == int(at) {
			switch v.(type) {
			case json.Number:
				return number
			case string:
				return texts[uint64(number)%uint64(len(texts))]
			}
			return nil
		}
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for i := range v {
				v[i] = walk(v[i], replace)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				v[k] = walk(v[k], replace)
			}
		}
		return v
	}
	walk(doc, false)
	n = 0
	return walk(doc, true)
}

// FuzzServe sends the worker arbitrary lines, and requests in which one value has been changed. The
// worker must not panic, and its answers must match the schema. The type of the last answer must be
// done, failed or info.
func FuzzServe(f *testing.F) {
	f.Add([]byte("hello"), uint16(0), int64(0))
	f.Add([]byte(`{"type":"describe","protocol":2}`), uint16(0), int64(0))
	f.Add([]byte(`{"type":"trial","protocol":2,"path":"x","plan":null}`), uint16(0), int64(0))
	for _, req := range examples(f) {
		req.Settings = req.Settings.With(driver.Settings{"pool_size": "4"})
		line, err := json.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		for _, number := range []int64{-1, 0, 1, 3, 1 << 62} {
			f.Add(line, uint16(30+number%40), number)
		}
	}
	s := schemaOf(f, "response")
	f.Fuzz(func(t *testing.T, line []byte, at uint16, number int64) {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		var doc any
		if at > 0 && dec.Decode(&doc) == nil {
			line, _ = json.Marshal(change(doc, at, number)) // cannot fail, because doc came from JSON
		}
		var req protocol.Request
		if json.Unmarshal(line, &req) == nil && req.Plan != nil && !quick(&req) {
			return
		}
		if req.Path != "" { // never use a path outside of the test's directory
			req.Path = filepath.Join(t.TempDir(), "fuzz.db")
			var err error
			if line, err = json.Marshal(req); err != nil {
				return // the request cannot be encoded, for example because a type is missing
			}
		}
		if bytes.ContainsRune(line, '\n') {
			return
		}
		r, w := io.Pipe()
		defer func() { _ = w.Close() }()
		go func() { _, _ = w.Write(append(line, '\n')) }()
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := worker.Serve(ctx, idle{}, r, &out); err != nil {
			t.Fatal(err)
		}
		got := answers(t, &out)
		last := got[len(got)-1]
		switch last.Type {
		case protocol.TypeDone, protocol.TypeInfo:
		case protocol.TypeFailed:
			if last.Reason == nil || last.Reason.Code == "" || strings.ContainsRune(last.Reason.Code, ' ') {
				t.Errorf("failed with %+v", last.Reason)
			}
		default:
			t.Errorf("the last answer is %+v", last)
		}
		for _, a := range got {
			validate(t, s, a)
		}
	})
}

// quick reports whether a trial takes only milliseconds. FuzzServe skips other trials.
func quick(req *protocol.Request) bool {
	const rows, size = 1_000, 1 << 20
	if req.Settings.PoolSize() > 100 {
		return false
	}
	small := map[string]bool{}
	for _, d := range req.Plan.DataSets {
		if d.Total > rows || d.Count > rows {
			return false
		}
		small[d.Name] = true
		for _, c := range d.Columns {
			g := c.Generator
			if g.High > size || g.Times > size || len(g.Of) > 1 && len(d.Columns) > 20 {
				return false
			}
		}
	}
	for _, p := range req.Plan.Phases {
		if q := p.Query; q != nil && (q.Repeat > 10 || q.Clients > 10) {
			return false
		}
		if m := p.Mix; m != nil && (m.Count > rows || m.DurationMS > 10 || m.Clients > 10 || m.Rate != 0 && m.Rate < 1e5) {
			return false
		}
	}
	return len(req.Plan.Phases) < 20
}
