package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// httpPhase returns an http phase. Its answers have the ID and the name of a user.
func httpPhase() plan.Phase {
	return plan.Phase{Name: "requests", HTTP: &plan.HTTP{
		Call: plan.Call{
			SQL: "SELECT id, name FROM users WHERE id = ?", Rows: 1,
			Parameters: []plan.Parameter{{Name: "id", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenPick, Of: []string{"users.id"}}}},
			Columns:    []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text, Nullable: true}},
		},
		Names: []string{"id", "name"}, Clients: 1, Count: 10,
	}}
}

// The function "users" answers the statement of httpPhase. User 404 does not exist, user 2 exists
// twice, user 5 is locked, user 8 has no name, and user 13 causes an error.
func users(_ string, params []any) ([]driver.Row, error) {
	switch id := params[0].(int64); id {
	case 404:
		return nil, nil
	case 2:
		return []driver.Row{{{Int: 2}, {}}, {{Int: 2}, {}}}, nil
	case 5:
		return nil, &driver.Error{Code: 261, Err: errors.New("database is locked")}
	case 13:
		return nil, &driver.Error{Code: 10, Err: errors.New("disk I/O error")}
	case 8:
		return []driver.Row{{{Int: id}, {Null: true}}}, nil
	default:
		return []driver.Row{{{Int: id}, {Text: `a "<é>"`}}}, nil
	}
}

// dialogue is one side of a conversation with a worker: the side of the lab (sqlite3perf itself).
type dialogue struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Scanner
	ended chan error
}

func converse(t *testing.T, d driver.Driver, req protocol.Request) *dialogue {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	x := &dialogue{t, inW, bufio.NewScanner(outR), make(chan error, 1)}
	go func() {
		err := worker.Serve(context.WithoutCancel(t.Context()), d, inR, outW)
		outW.Close()
		inR.Close()
		x.ended <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	x.say(req)
	return x
}

func (x *dialogue) say(req protocol.Request) {
	x.t.Helper()
	if err := json.NewEncoder(x.in).Encode(req); err != nil {
		x.t.Fatal(err)
	}
}

func (x *dialogue) order(typ string) {
	x.t.Helper()
	x.say(protocol.Request{Type: typ, Protocol: protocol.Version})
}

// hear returns the next answer of the worker, which must have the type typ and match the
// schema.
func (x *dialogue) hear(typ string) protocol.Response {
	x.t.Helper()
	var a protocol.Response
	if !x.out.Scan() {
		x.t.Fatalf("no answer, want %s", typ)
	}
	if err := json.Unmarshal(x.out.Bytes(), &a); err != nil {
		x.t.Fatal(err)
	}
	if a.Type != typ {
		x.t.Fatalf("answered %s, want %s", x.out.Text(), typ)
	}
	validate(x.t, schemaOf(x.t, "response"), a)
	return a
}

func serving(t *testing.T, p *plan.Plan) protocol.Request {
	req := trialOf(t, p, nil)
	req.Type = protocol.TypeServe
	return req
}

func get(t *testing.T, address, target string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + address + target)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestServe(t *testing.T) {
	f := newFake()
	f.answer = users
	x := converse(t, f, serving(t, blog(3, httpPhase())))
	x.hear(protocol.TypeReady)
	x.hear(protocol.TypeSettings)
	x.hear(protocol.TypePhase)
	l := x.hear(protocol.TypeListening)
	if l.Phase != "requests" || !strings.HasPrefix(l.Address, "127.0.0.1:") {
		t.Fatalf("%+v", l)
	}
	get(t, l.Address, "/?id=5") // not counted, because it comes before the order to begin
	x.order(protocol.TypeBegin)
	x.hear(protocol.TypeBegun)
	for _, c := range []struct {
		target string
		status int
		body   string
	}{
		{"/?id=7", 200, `{"id":7,"name":"a \"\u003cé\u003e\""}`},
		{"/?other=1&id=8", 200, `{"id":8,"name":null}`},
		{"/?id=404", 404, "no row\n"},
		{"/", 400, "no parameter id: want /?id=…\n"},
		{"/?id=x", 400, "parameter id: bad whole number \"x\"\n"},
		{"/?id=2", 500, "2 rows, expected 1\n"},
		{"/?id=13", 500, "disk I/O error\n"},
		{"/?id=5", 503, "database is locked\n"},
		{"/x?id=5", 404, "no such page: want /\n"},
	} {
		status, body := get(t, l.Address, c.target)
		if status != c.status || body != c.body {
			t.Errorf("GET %s: %d %q, want %d %q", c.target, status, body, c.status, c.body)
		}
	}
	x.order(protocol.TypeStop)
	x.hear(protocol.TypeSettings)
	s := x.hear(protocol.TypeServed).Sample
	if s.Operations != 9 || s.Rows != 2 || s.WallNS <= 0 || s.Phase != "requests" {
		t.Errorf("%+v", s)
	}
	if s.Failed != 1 || len(s.Errors) != 1 || s.Errors[0].Code != 261 || s.Errors[0].Name != "SQLITE_BUSY_RECOVERY" || s.Errors[0].Count != 1 {
		t.Errorf("errors %+v", s.Errors)
	}
	x.hear(protocol.TypeDone)
	if err := <-x.ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Address); err == nil {
		t.Error("the server still listens")
	}
}

// TestServeNothing checks that an http phase without a statement answers each request with {},
// although the driver would fail at any query.
func TestServeNothing(t *testing.T) {
	f := newFake()
	p := blog(0, plan.Phase{Name: "ceiling", HTTP: &plan.HTTP{Clients: 1, DurationMS: 1, Call: plan.Call{Rows: 1}}})
	validate(t, schemaOf(t, "request"), serving(t, p))
	x := converse(t, f, serving(t, p))
	x.hear(protocol.TypeReady)
	x.hear(protocol.TypeSettings)
	x.hear(protocol.TypePhase)
	l := x.hear(protocol.TypeListening)
	x.order(protocol.TypeBegin)
	x.hear(protocol.TypeBegun)
	if status, body := get(t, l.Address, "/"); status != 200 || body != "{}" {
		t.Errorf("%d %q", status, body)
	}
	x.order(protocol.TypeStop)
	x.hear(protocol.TypeSettings)
	x.hear(protocol.TypeServed)
	x.hear(protocol.TypeDone)
}

func TestServeFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name, listen  string
		orders        []string
		code, message string
	}{
		{"port in use", taken.Addr().String(), nil, "listen", "the port of " + taken.Addr().String() + " is in use: name another one, or 127.0.0.1:0 for any that is free"},
		{"no address", "nowhere", nil, "listen", "listen tcp: address nowhere: missing port in address"},
		{"stop before begin", "", []string{protocol.TypeStop}, "protocol", `order "stop": want begin`},
		{"begin twice", "", []string{protocol.TypeBegin, protocol.TypeBegin}, "protocol", `order "begin": want stop`},
		{"no request", "", []string{protocol.TypeBegin, protocol.TypeStop}, "no-operation", "no request came between the orders to begin and to stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := serving(t, blog(3, httpPhase()))
			req.Listen = c.listen
			x := converse(t, newFake(), req)
			x.hear(protocol.TypeReady)
			x.hear(protocol.TypeSettings)
			x.hear(protocol.TypePhase)
			if c.orders != nil {
				x.hear(protocol.TypeListening)
			}
			for i, o := range c.orders {
				x.order(o)
				if i < len(c.orders)-1 {
					x.hear(protocol.TypeBegun)
				}
			}
			r := x.hear(protocol.TypeFailed).Reason
			if r.Code != c.code || r.Message != c.message || r.Phase != "requests" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestServeIsNoTrial checks that a request of type trial is refused if its plan has an http
// phase, because nobody would put load on the server.
func TestServeIsNoTrial(t *testing.T) {
	got := serve(t, newFake(), trialOf(t, blog(3, httpPhase()), nil))
	last := got[len(got)-1]
	if last.Type != protocol.TypeFailed || last.Reason.Code != "plan" || !strings.Contains(last.Reason.Message, "type serve") {
		t.Errorf("answered %+v", last.Reason)
	}
}

// TestServeAbandoned checks that a server ends and removes its database when its input ends, which
// means that the lab has gone.
func TestServeAbandoned(t *testing.T) {
	req := serving(t, blog(3, httpPhase()))
	x := converse(t, newFake(), req)
	x.hear(protocol.TypeReady)
	x.hear(protocol.TypeSettings)
	x.hear(protocol.TypePhase)
	l := x.hear(protocol.TypeListening)
	x.order(protocol.TypeBegin)
	x.hear(protocol.TypeBegun)
	x.in.Close()
	if err := <-x.ended; err == nil || !strings.Contains(err.Error(), "the lab has gone") {
		t.Errorf("ended with %v", err)
	}
	if _, err := net.Dial("tcp", l.Address); err == nil {
		t.Error("the server still listens")
	}
	if _, err := os.Stat(req.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the database was not removed: %v", err)
	}
}

// TestServeAbandonedInPhase checks that the process of a server ends when its input ends, even
// during a phase that cannot be stopped.
func TestServeAbandonedInPhase(t *testing.T) {
	req := serving(t, blog(3, insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1}), httpPhase()))
	requests, in := io.Pipe()
	gone := make(chan struct{})
	f := newFake()
	f.execFail = func(sql string, _ []any) error {
		if strings.HasPrefix(sql, "INSERT") {
			in.Close()
			<-gone
		}
		return nil
	}
	go func() { _ = json.NewEncoder(in).Encode(req) }()
	err := worker.ServeUntil(t.Context(), f, requests, io.Discard, func() { close(gone) })
	if err == nil || !strings.Contains(err.Error(), "the lab has gone") {
		t.Errorf("returned %v", err)
	}
	if _, err := os.Stat(req.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the database was not removed: %v", err)
	}
}

func TestServeCheck(t *testing.T) {
	for _, c := range []struct {
		change func(*plan.Phase)
		want   string
	}{
		{func(p *plan.Phase) { p.Untimed = true }, "plan.phases[0].http is in an untimed phase"},
		{func(p *plan.Phase) { p.HTTP.Clients = 0 }, "plan.phases[0].http.clients is 0"},
		{func(p *plan.Phase) { p.HTTP.DurationMS = 5 }, "plan.phases[0].http has both or none of count and duration_ms"},
		{func(p *plan.Phase) { p.HTTP.Rate = -1 }, "plan.phases[0].http.rate is -1"},
		{func(p *plan.Phase) { p.HTTP.Names = p.HTTP.Names[:1] }, "plan.phases[0].http.names has 1 names for 2 columns"},
		{func(p *plan.Phase) { p.HTTP.Columns[1].Type = driver.Blob }, "plan.phases[0].http.columns[1] is blob"},
		{func(p *plan.Phase) { p.HTTP.Parameters[0].Type = driver.Blob }, "plan.phases[0].http.parameters[0].type is blob"},
		{func(p *plan.Phase) { p.HTTP.SQL = "" }, "plan.phases[0].http.sql is empty"},
		{func(p *plan.Phase) { p.HTTP.Columns, p.HTTP.Names = nil, nil }, "plan.phases[0].http.columns is empty"},
		{func(p *plan.Phase) { p.Script = "VACUUM" }, "plan.phases[0] has 2 of insert, query, mix, http, replay and script"},
	} {
		p := httpPhase()
		c.change(&p)
		x := converse(t, newFake(), serving(t, blog(3, p)))
		r := x.hear(protocol.TypeFailed).Reason
		if r.Code != "plan" || !strings.HasPrefix(r.Message, c.want) {
			t.Errorf("%+v, want %s", r, c.want)
		}
	}
}

// TestProofOfIdleConnections checks that if the request sets pool_idle, the proof has the number of
// connections that the pool keeps when none is in use.
func TestProofOfIdleConnections(t *testing.T) {
	for _, c := range []struct {
		marked, wanted, size, got string
	}{
		{"1", "2", "3", "3"}, // all three connections have the mark
		{"0", "2", "3", "0"},
		{"1", "3", "3", "3"},
		{"1", "9", "3", "9"}, // the pool has only three connections
	} {
		f := newFake()
		f.pragmas["cell_size_check"] = c.marked
		got := serve(t, f, trialOf(t, blog(1), driver.Settings{"pool_size": c.size, "pool_idle": c.wanted}))
		var seen []string
		for _, conn := range got[0].Proof.Connections {
			seen = append(seen, conn["pool_idle"])
		}
		if diff := cmp.Diff([]string{c.got, c.got, c.got}, seen); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
	got := serve(t, newFake(), trialOf(t, blog(1), nil))
	if v, ok := got[0].Proof.Connections[0]["pool_idle"]; ok {
		t.Errorf("the proof has pool_idle=%s although the request does not set it", v)
	}
}
