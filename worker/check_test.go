package worker_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The function "sound" returns a valid request. TestSoundPlan sends it unchanged. Other tests first
// make one of its fields invalid.
func sound(t *testing.T) *protocol.Request {
	mix := mixOf(plan.Mix{Clients: 2, Count: 10, OwnConn: true})
	req := trialOf(t, blog(3,
		insertPhase(plan.Insert{Sets: []string{"users", "articles"}, Transaction: "per", Per: "users", RowsPerStatement: 1}),
		selectUsers(1), mix), driver.Settings{"pool_size": "2"})
	return &req
}

func TestSoundPlan(t *testing.T) {
	f := newFake()
	f.answer = func(sql string, params []any) ([]driver.Row, error) {
		if len(params) == 1 {
			return []driver.Row{{{Int: params[0].(int64)}}}, nil
		}
		return one(sql, params)
	}
	got := serve(t, f, *sound(t))
	if last := got[len(got)-1]; last.Type != protocol.TypeDone {
		t.Errorf("ended with %+v", last.Reason)
	}
}

// leaver is a driver that could leave data on a server after the trial.
type leaver struct{ *fake }

func (leaver) Leave() error { return nil }

// TestRefusedMakesNothing checks that the worker creates no table with a [driver.Leaver] if a
// setting did not take effect.
func TestRefusedMakesNothing(t *testing.T) {
	f := newFake()
	req := sound(t)
	req.Settings["synchronous"] = "off"
	got := serve(t, leaver{f}, *req)
	if last := got[len(got)-1]; last.Type != protocol.TypeFailed || last.Reason.Code != protocol.CodeSetting || last.Reason.Message != "synchronous: wanted off, got full, on connection 1 of 2" {
		t.Errorf("ended with %+v", last.Reason)
	}
	for _, entry := range f.log {
		if strings.Contains(entry, "CREATE") || strings.Contains(entry, "INSERT") {
			t.Errorf("the worker ran %q although it must refuse the trial", entry)
		}
	}
}

// TestCheckPlan checks that a worker refuses a plan that makes no sense, would panic or would never
// end. It must do so before it opens a database, and the error must name the bad field.
func TestCheckPlan(t *testing.T) {
	insert := func(p *plan.Plan) *plan.Insert { return p.Phases[0].Insert }
	query := func(p *plan.Plan) *plan.Query { return p.Phases[1].Query }
	mix := func(p *plan.Plan) *plan.Mix { return p.Phases[2].Mix }
	for field, spoil := range map[string]func(*protocol.Request, *plan.Plan){
		"settings.sync cannot":           func(r *protocol.Request, _ *plan.Plan) { r.Settings["sync"] = "0" },
		"settings.busy_timeout is":       func(r *protocol.Request, _ *plan.Plan) { r.Settings["busy_timeout"] = "5s" },
		"settings.pool_size is":          func(r *protocol.Request, _ *plan.Plan) { r.Settings["pool_size"] = "10001" },
		"plan.data_sets[0].name":         func(_ *protocol.Request, p *plan.Plan) { p.DataSets[0].Name = "a.b" },
		"plan.data_sets[0].count":        func(_ *protocol.Request, p *plan.Plan) { p.DataSets[0].Count = -1 },
		"plan.data_sets[1].count":        func(_ *protocol.Request, p *plan.Plan) { p.DataSets[1].Count = 1 << 40 },
		"plan.data_sets[1].total":        func(_ *protocol.Request, p *plan.Plan) { p.DataSets[1].Total = 7 },
		"plan.data_sets[1].parent":       func(_ *protocol.Request, p *plan.Plan) { p.DataSets[1].Parent = "nobody" },
		"plan.data_sets[1].columns[0].n": func(_ *protocol.Request, p *plan.Plan) { p.DataSets[1].Columns[0].Name = "" },
		"plan.data_sets[1].columns[1].generator.skew": func(_ *protocol.Request, p *plan.Plan) {
			p.DataSets[1].Columns[1].Generator = plan.Generator{Kind: plan.GenPick, Of: []string{"users.id"}, Skew: 1e300}
		},
		"plan.phases[1].name":                        func(_ *protocol.Request, p *plan.Plan) { p.Phases[1].Name = "insert" },
		"plan.phases[2].name":                        func(_ *protocol.Request, p *plan.Plan) { p.Phases[2].Name = "" },
		"plan.phases[0].context":                     func(_ *protocol.Request, p *plan.Plan) { p.Phases[0].Context = "todo" },
		"plan.phases[0] has 2":                       func(_ *protocol.Request, p *plan.Plan) { p.Phases[0].Script = "SELECT 1" },
		"plan.phases[0] has 0":                       func(_ *protocol.Request, p *plan.Plan) { p.Phases[0].Insert = nil },
		"plan.phases[0].insert.sets is empty":        func(_ *protocol.Request, p *plan.Plan) { insert(p).Sets = nil },
		"plan.phases[0].insert.sets[1] names":        func(_ *protocol.Request, p *plan.Plan) { insert(p).Sets[1] = "nobody" },
		"plan.phases[0].insert.sets[1] is":           func(_ *protocol.Request, p *plan.Plan) { insert(p).Sets[1] = "users" },
		"plan.phases[0].insert.sets[0] is \"users\"": func(_ *protocol.Request, p *plan.Plan) { p.DataSets[0].Columns[0].Hidden = true },
		"plan.phases[0].insert.sets have no rows": func(_ *protocol.Request, p *plan.Plan) {
			p.DataSets[0].Count, p.DataSets[0].Total, p.DataSets[1].Total = 0, 0, 0
		},
		"plan.phases[0].insert.rows_per_statement is 0":   func(_ *protocol.Request, p *plan.Plan) { insert(p).RowsPerStatement = 0 },
		"plan.phases[0].insert.rows_per_statement is 125": func(_ *protocol.Request, p *plan.Plan) { insert(p).RowsPerStatement = 125_001 },
		"plan.phases[0].insert.transaction":               func(_ *protocol.Request, p *plan.Plan) { insert(p).Transaction = "two" },
		"plan.phases[0].insert.verify[0].table": func(_ *protocol.Request, p *plan.Plan) {
			insert(p).Verify = []plan.Stored{{}}
		},
		"plan.phases[0].insert.verify[1].types has 0 entries: want 1": func(_ *protocol.Request, p *plan.Plan) {
			insert(p).Verify = []plan.Stored{{Table: "users"}, {Table: "users", Columns: []string{"id"}}}
		},
		"plan.phases[0].insert.every": func(_ *protocol.Request, p *plan.Plan) { insert(p).Transaction = "every" },
		"plan.phases[0].insert.per":   func(_ *protocol.Request, p *plan.Plan) { insert(p).Per = "articles" },
		"plan.phases[0].insert.sets[1] is \"articles\": want one that is nested": func(_ *protocol.Request, p *plan.Plan) {
			p.DataSets[1].Parent, p.DataSets[1].Total = "", 2
		},
		"plan.phases[0].insert.sets[1] is \"articles\" with": func(_ *protocol.Request, p *plan.Plan) {
			p.DataSets[1].Count, p.DataSets[1].Total = 1<<25, 3<<25
		},
		"plan.phases[1].query.sql":           func(_ *protocol.Request, p *plan.Plan) { query(p).SQL = " " },
		"plan.phases[1].query.rows":          func(_ *protocol.Request, p *plan.Plan) { query(p).Rows = -2 },
		"plan.phases[1].query.repeat":        func(_ *protocol.Request, p *plan.Plan) { query(p).Repeat = 0 },
		"plan.phases[1].query.columns ":      func(_ *protocol.Request, p *plan.Plan) { query(p).Columns = nil },
		"plan.phases[1].query.clients is 0:": func(_ *protocol.Request, p *plan.Plan) { query(p).Clients = 0 },
		"plan.phases[1].query.clients is 3,": func(_ *protocol.Request, p *plan.Plan) { query(p).Clients = 3 },
		"plan.phases[1].query.for_each": func(_ *protocol.Request, p *plan.Plan) {
			p.DataSets[0].Count, p.DataSets[0].Total, p.DataSets[1].Total = 1<<25, 1<<25, 1<<26
		},
		"plan.phases[1].query.for_each names":       func(_ *protocol.Request, p *plan.Plan) { query(p).ForEach = "nobody" },
		"plan.phases[1].query.parameters[0].column": func(_ *protocol.Request, p *plan.Plan) { query(p).ForEach = "" },
		"plan.phases[1].query.parameters[0] has":    func(_ *protocol.Request, p *plan.Plan) { query(p).Parameters[0].Column = "" },
		"plan.phases[2].mix.clients is -1:":         func(_ *protocol.Request, p *plan.Plan) { mix(p).Clients = -1 },
		"process is 1: want a number from 0 to 0":   func(r *protocol.Request, _ *plan.Plan) { r.Process = 1 },
		"process is 1: want a plan of one mix": func(r *protocol.Request, p *plan.Plan) {
			r.Process, r.Settings["processes"] = 1, "2"
		},
		"settings.processes is 2 with a database in memory": func(r *protocol.Request, p *plan.Plan) {
			r.Settings["processes"], r.Settings["mode"] = "2", "memory"
		},
		"settings.processes is 2 with locking_mode exclusive": func(r *protocol.Request, p *plan.Plan) {
			r.Settings["processes"], r.Settings["locking_mode"] = "2", "exclusive"
		},
		"plan.phases[2].mix.clients is 2, which 3 processes": func(r *protocol.Request, p *plan.Plan) { r.Settings["processes"] = "3" },
		"plan.phases[2].mix.mutex is held in one process": func(r *protocol.Request, p *plan.Plan) {
			r.Settings["processes"], mix(p).Operations[0].Calls[0].Mutex = "2", true
		},
		"plan.phases[2].mix.clients is 3,": func(_ *protocol.Request, p *plan.Plan) { mix(p).Clients = 3 },
		"plan.phases[2].mix.count":         func(_ *protocol.Request, p *plan.Plan) { mix(p).Count = -1 },
		"plan.phases[2].mix.duration_ms":   func(_ *protocol.Request, p *plan.Plan) { mix(p).DurationMS = 1 << 60 },
		"plan.phases[2].mix.gomaxprocs":    func(_ *protocol.Request, p *plan.Plan) { mix(p).GOMAXPROCS = -1 },
		"plan.phases[2].mix.operations[1].mutex would": func(_ *protocol.Request, p *plan.Plan) {
			mix(p).Mutex, mix(p).Operations[1].Mutex = true, true
		},
		"plan.phases[2].mix.operations[1].calls[1].mutex would be waited for forever": func(_ *protocol.Request, p *plan.Plan) {
			mix(p).Operations[1].Mutex, mix(p).Operations[1].Calls[1].Mutex = true, true
		},
		"plan.phases[2].mix.operations[1].results[1] is 5": func(_ *protocol.Request, p *plan.Plan) {
			mix(p).Operations[1].Results = []int{2067, 5}
		},
		"plan.phases[2].mix.operations[0].calls[0].if_empty is \"commit\": want stop": func(_ *protocol.Request, p *plan.Plan) {
			mix(p).Operations[0].Calls[0].IfEmpty = plan.EmptyCommit
		},
		"plan.phases[2].mix.operations[1].calls[0].if_empty is for a statement without columns": func(_ *protocol.Request, p *plan.Plan) {
			mix(p).Operations[1].Calls[0].IfEmpty = plan.EmptyRollback
		},
		"plan.phases[2].mix.retry.attempts": func(_ *protocol.Request, p *plan.Plan) { mix(p).Retry = &plan.Retry{Attempts: 1} },
		"plan.phases[2].mix.retry.backoff_us": func(_ *protocol.Request, p *plan.Plan) {
			mix(p).Retry = &plan.Retry{Attempts: 2, BackoffUS: -1}
		},
		"plan.phases[2].mix has both or none": func(_ *protocol.Request, p *plan.Plan) { mix(p).Count = 0 },
		"plan.phases[2].mix.rate":             func(_ *protocol.Request, p *plan.Plan) { mix(p).Rate = 1e-300 },
		"plan.phases[2].mix.operations has 0": func(_ *protocol.Request, p *plan.Plan) { mix(p).Operations = nil },
		"plan.phases[2].mix.operations has 257": func(_ *protocol.Request, p *plan.Plan) {
			for len(mix(p).Operations) < 257 {
				mix(p).Operations = append(mix(p).Operations, mix(p).Operations[0])
			}
		},
		"plan.phases[2].mix.operations[0].name":         func(_ *protocol.Request, p *plan.Plan) { mix(p).Operations[0].Name = "" },
		"plan.phases[2].mix.operations[0].weight":       func(_ *protocol.Request, p *plan.Plan) { mix(p).Operations[0].Weight = 0 },
		"plan.phases[2].mix.operations[1].calls is":     func(_ *protocol.Request, p *plan.Plan) { mix(p).Operations[1].Calls = nil },
		"plan.phases[2].mix.operations[1].calls[1].sql": func(_ *protocol.Request, p *plan.Plan) { mix(p).Operations[1].Calls[1].SQL = "" },
	} {
		t.Run(field, func(t *testing.T) {
			req := sound(t)
			spoil(req, req.Plan)
			got := serve(t, newFake(), *req)
			last := got[len(got)-1]
			if len(got) != 1 || last.Type != protocol.TypeFailed || last.Reason.Code != "plan" || !strings.HasPrefix(last.Reason.Message, field) {
				t.Errorf("answered %+v %+v", got[0], last.Reason)
			}
			if _, err := os.Stat(req.Path); err == nil {
				t.Error("the database was created although the plan is invalid")
			}
		})
	}
}

// TestCheckPlanTypes checks that a request is refused if a column or a parameter has no type. Only
// programs in other languages can send such a request.
func TestCheckPlanTypes(t *testing.T) {
	whole, err := json.Marshal(sound(t))
	if err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string][2]string{
		"plan.data_sets[0].columns[0].type":           {`"name":"id","type":"int"`, `"name":"id"`},
		"plan.phases[1].query.columns[0].type":        {`"columns":["int"]`, `"columns":[null]`},
		"plan.phases[1].query.parameters[0].type":     {`"name":"id","type":"int","column"`, `"name":"id","column"`},
		"plan.phases[2].mix.operations[1].calls[0].p": {`"name":"id","type":"int","generator":{"kind":"serial","low":100`, `"name":"id","generator":{"kind":"serial","low":100`},
	} {
		line := strings.Replace(string(whole), change[0], change[1], 1)
		if line == string(whole) {
			t.Fatalf("%s does not occur", change[0])
		}
		got := serveLine(t, newFake(), line)[0]
		if got.Type != protocol.TypeFailed || got.Reason.Code != "plan" || !strings.HasPrefix(got.Reason.Message, field) {
			t.Errorf("%s: answered %+v %+v", field, got, got.Reason)
		}
	}
}

// TestInsertEmptySets checks that the rows of a data set are inserted and committed even if the
// data sets nested in it have no rows.
func TestInsertEmptySets(t *testing.T) {
	for _, transaction := range []string{"one", "per"} {
		t.Run(transaction, func(t *testing.T) {
			f := newFake()
			p := blog(2, insertPhase(plan.Insert{Sets: []string{"users", "articles", "comments"}, Transaction: transaction, Per: "users", RowsPerStatement: 1}))
			p.Schema = "PHASES"
			comments := p.DataSets[1]
			comments.Name, comments.Table, comments.Parent, comments.Count, comments.Total = "comments", "comments", "articles", 5, 0
			p.DataSets[1].Count, p.DataSets[1].Total = 0, 0
			p.DataSets = append(p.DataSets, comments)
			got := serve(t, f, trialOf(t, p, nil))
			if last := got[len(got)-1]; last.Type != protocol.TypeDone {
				t.Fatalf("ended with %+v", last.Reason)
			}
			want := map[string]string{
				"one": "begin, users 1, users 2, commit",
				"per": "begin, users 1, commit, begin, users 2, commit",
			}[transaction]
			if diff := cmp.Diff(want, strings.Join(story(f), ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
