package conformance

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// trial runs one trial of a workload, as in a run. The parameter "text" is the workload, and "over" has
// settings that replace those in the workload. If the trial's status is not OK, or if the worker has caused a
// warning, the error says why.
func (s *Subject) trial(ctx context.Context, text string, over driver.Settings) (*lab.Case, *result.Trial, error) {
	c, err := s.caseOf(text, over)
	if err != nil {
		return nil, nil, err
	}
	p := &lab.Processes{Dir: s.Dir, Limit: trialLimit}
	t, err := p.Trial(ctx, c, Seed)
	if err != nil {
		return nil, nil, err
	}
	return c, t, well(t)
}

// well returns an error if a trial's status is not OK, or if the trial has warnings that the
// worker causes.
func well(t *result.Trial) error {
	if t.Status != result.OK {
		return &trialError{t}
	}
	// A run continues despite warnings. But a worker that causes a warning breaks a promise of the
	// protocol. Four warnings are not caused by the worker: the load generator is the bottleneck, it is
	// late, processes begin at different times, or the system keeps files in its page cache.
	others := []string{result.WarningCeiling, result.WarningLate, result.WarningApart, result.WarningCached}
	for _, w := range t.Warnings {
		if !slices.Contains(others, w.Code) {
			return fmt.Errorf("phase %s: %s", w.Phase, w.Message)
		}
	}
	return nil
}

// turns returns a check that runs two trials of a workload, which take turns. The check does this several
// times, as the parameter "rounds" says. The first time, each phase is in one piece. After that, each phase
// is in slices of a few operations. A worker may ignore the slices. It may also continue without waiting
// for the order to proceed, but then it must not report that it waits.
func turns(text string, rounds int) func(context.Context, *Subject) error {
	return func(ctx context.Context, s *Subject) error {
		c, err := s.caseOf(text, nil)
		if err != nil {
			return err
		}
		other := *c
		other.ID++
		p := &lab.Processes{Dir: s.Dir, Limit: trialLimit, Slice: 20 * time.Microsecond}
		for range rounds {
			list, err := p.Trials(ctx, []*lab.Case{c, &other}, Seed)
			if err != nil {
				return err
			}
			if err := cmp.Or(well(list[0]), well(list[1])); err != nil {
				return err
			}
		}
		return nil
	}
}

// caseOf returns the only case of a workload. The parameter "text" is the workload, and "over" has settings
// that replace those in the workload.
func (s *Subject) caseOf(text string, over driver.Settings) (*lab.Case, error) {
	w, err := workload.Parse("check.yaml", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	settings := map[string][]string{}
	for name, value := range over {
		settings[name] = []string{value}
	}
	m := lab.Matrix{Drivers: []build.Ref{s.Ref}, Workloads: []*workload.Workload{w}, Scale: workload.Full, Seed: Seed, Settings: settings}
	cases, err := m.Cases()
	if err != nil {
		return nil, err
	}
	c := cases[0]
	c.Worker, c.Info = s.Worker, s.Info
	return c, nil
}

// trialError is the error for a trial whose status is not OK.
type trialError struct{ trial *result.Trial }

func (e *trialError) Error() string {
	r := e.trial.Reason
	words := r.Message
	if r.Phase != "" && !strings.Contains(words, "phase "+r.Phase) {
		words = "phase " + r.Phase + ": " + words
	}
	words = fmt.Sprintf("%s, %s: %s", e.trial.Status, r.Code, words)
	if r.Detail != "" {
		words += "\n" + r.Detail
	}
	return words
}

// smoke runs a minimal trial. If this trial fails, no other check can be made.
func smoke(ctx context.Context, s *Subject) error {
	_, _, err := s.trial(ctx, yaml("smoke"), nil)
	return err
}

// answer is the known result of a phase whose result package lab cannot compute from the generated data.
type answer struct {
	Checksum   string           `json:"checksum"`
	Operations map[string]int64 `json:"operations,omitempty"`  // for a mix: how often each operation was executed
	EndedEarly map[string]int64 `json:"ended_early,omitempty"` // for a mix with one client: how often each operation ended early
	Results    map[string]int64 `json:"results,omitempty"`     // for a mix with one client: number of errors that count as results, by SQLite's name of the error
}

// answersJSON has the answers of the Go engine (package worker). A test checks that the engine still
// gives them.
//
//go:embed answers.json
var answersJSON []byte

// verified returns a check that runs a trial of the workload in the parameter "text". Results that package lab
// cannot compute itself are compared with the known answers.
func verified(text string) func(context.Context, *Subject) error {
	return func(ctx context.Context, s *Subject) error {
		c, t, err := s.trial(ctx, text, nil)
		if err != nil {
			return err
		}
		var known map[string]answer // the keys are "workload/phase"
		if err := json.Unmarshal(answersJSON, &known); err != nil {
			return err
		}
		for i := range t.Samples {
			m := &t.Samples[i]
			want, ok := known[c.Workload+"/"+m.Phase]
			if !ok {
				continue
			}
			if m.Checksum != want.Checksum {
				return fmt.Errorf("phase %s: sample.checksum is %s, want %s: see Verification and Checksums in docs/worker-protocol.md", m.Phase, m.Checksum, want.Checksum)
			}
			for _, r := range m.Results {
				if n := want.Results[r.Name]; r.Count != n {
					return fmt.Errorf("phase %s: sample.results: %d of %s, want %d", m.Phase, r.Count, r.Name, n)
				}
			}
			if len(m.Results) != len(want.Results) {
				return fmt.Errorf("phase %s: sample.results has %d entries, want %d: %v", m.Phase, len(m.Results), len(want.Results), want.Results)
			}
			for _, l := range m.Latency {
				if n := want.EndedEarly[l.Operation]; l.EndedEarly != n {
					return fmt.Errorf("phase %s: sample.latency: %d of %s ended early, want %d", m.Phase, l.EndedEarly, l.Operation, n)
				}
				if n, ok := want.Operations[l.Operation]; ok && l.Count != n {
					return fmt.Errorf("phase %s: sample.latency: %d operations %s, want %d: the seed decides which operation is the next", m.Phase, l.Count, l.Operation, n)
				}
			}
		}
		return nil
	}
}

func trialChecks() []Check {
	var list []Check
	for _, p := range policies {
		list = append(list, Check{Name: "insert/" + p, test: verified(inserting(p))})
	}
	return append(list,
		Check{Name: "loading/in pieces", test: verified(pieces)},
		Check{Name: "trials/two that take turns", test: turns(pieces, 1)},
		Check{Name: "query/each way", test: verified(queries)},
		Check{Name: "insert/in slices", test: turns(inserting(policies[0]), 2)},
		Check{Name: "query/in slices", test: turns(queries, 2)},
		Check{Name: "mix/in slices", Needs: "transactions=reads", test: turns(mixed, 2)},
		Check{Name: "mix/operations and their order", Key: "transactions=reads", test: verified(mixed)},
		Check{Name: "mix/own connections", Needs: "transactions=reads", test: verified(strings.Replace(mixed, "count: 500", "count: 500\n    connection: own", 1))},
		Check{Name: "mix/fixed rate", test: verified(yaml("rated"))},
		Check{Name: "mix/duration", Needs: "transactions=reads", test: verified(during)},
		Check{Name: "mix/mutex and retry", Needs: "transactions=reads", test: verified(strings.Replace(mixed, "count: 500", "count: 500\n    mutex: true\n    retry: {attempts: 3, backoff: 1ms}", 1))},
		Check{Name: "mix/errors that are results, operations that end early", Needs: "transactions=reads", test: verified(yaml("booking"))},
		Check{Name: "mix/a mutex around an operation", Needs: "transactions=reads", test: verified(yaml("guarded"))},
		Check{Name: "mix/failures and retries under a lock", Needs: "busy_timeout", test: tellsLocks},
		Check{Name: "script/each statement", test: verified(yaml("scripted"))},
		Check{Name: "http/answers and load", Key: "http", test: verified(yaml("served"))},
	)
}

// lockedFor is how long [tellsLocks] locks the database from another connection. This is half of the duration
// of the mix that runs meanwhile.
const lockedFor = time.Second

// tellsLocks locks the database from another connection during a mix. It checks that the worker reports how
// many operations failed, and how often it retried operations.
func tellsLocks(ctx context.Context, s *Subject) error {
	held := make(chan error, 1)
	h, err := s.askTrial(ctx, yaml("locked"), func(a *protocol.Response) bool {
		if a.Type == protocol.TypePhase && a.Phase == "mix" {
			go func() { held <- s.lock(ctx) }()
		}
		return final(a.Type)
	})
	if err != nil {
		return err
	}
	if a := h.last(); a.Type != protocol.TypeDone {
		return fmt.Errorf("%s, %s", a.Type, codeOf(a.Reason))
	}
	if err := <-held; err != nil {
		return fmt.Errorf("locking the database from outside: %w", err)
	}
	var m *protocol.Sample
	for i := range h.answers {
		if h.answers[i].Sample != nil {
			m = h.answers[i].Sample
		}
	}
	if m == nil {
		return errors.New("phase mix: no sample")
	}
	busy := int64(0)
	for _, e := range m.Errors {
		if e.Code&0xff == driver.CodeBusy {
			busy += e.Count
		}
	}
	var written int64
	err = s.withSQL(func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT n FROM t").Scan(&written) })
	switch {
	case err != nil:
		return err
	case m.Failed == 0:
		return fmt.Errorf("phase mix: failed is 0: want more, since another process held the database locked for %v", lockedFor)
	case m.Operations-m.Failed != written:
		return fmt.Errorf("phase mix: operations less failed is %d: want %d, the number of UPDATEs that are in the database", m.Operations-m.Failed, written)
	case busy != m.Failed:
		return fmt.Errorf("phase mix: errors counts %d SQLITE_BUSY: want %d, as failed says", busy, m.Failed)
	case m.Retries < 2*m.Failed:
		return fmt.Errorf("phase mix: retries is %d: want at least %d, since each of %d operations that failed has three attempts", m.Retries, 2*m.Failed, m.Failed)
	}
	return nil
}

// lock locks the check's database for writing, for lockedFor.
func (s *Subject) lock(ctx context.Context) error {
	return s.withSQL(func(db *sql.DB) error {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.ExecContext(ctx, "PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE"); err != nil {
			return err
		}
		time.Sleep(lockedFor)
		_, err = c.ExecContext(ctx, "ROLLBACK")
		return err
	})
}
