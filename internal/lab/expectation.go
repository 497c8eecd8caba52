package lab

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Expectation has the counts and results of a phase that package lab can compute from the plan and the
// generated data. If a phase has other counts or results, its trial fails. For results that cannot be computed,
// package stats checks that they are the same for all drivers.
type Expectation struct {
	Operations int64   // number of operations; -1: not known
	Executions []int64 // number of executions of each operation of a mix; nil: not known
	Rows       int64   // rows written or read in the whole phase; -1: not known
	Checksum   string  // checksum of the rows that the phase returns; "": not known
	Tables     []Table // tables into which the phase inserts
	Unhashed   bool    // the checksum may be missing, because this trial need not verify the phase in full
}

// expected returns the counts and results that a phase of the case must have. Unknown figures
// are -1.
func (c *Case) expected(phase string) Expectation {
	if e, ok := c.Expect[phase]; ok {
		return e
	}
	return Expectation{Operations: -1, Rows: -1}
}

// expect computes the counts and results that the cases must have. It is called after all other checks,
// because it may take long.
func (m *Matrix) expect(todo []point) error {
	sums := &hasher{seed: m.Seed}
	for _, at := range todo {
		sums.tell = func(done, total int64) {
			if m.Computing != nil {
				m.Computing(at.workload, done, total)
			}
		}
		expect, err := expectations(at.plan, m.Seed, at.back, sums)
		if err != nil {
			return fmt.Errorf("workload %s: %w", at.workload, err)
		}
		for _, c := range at.cases {
			c.Expect = expect
		}
	}
	return nil
}

// maxChosen is the largest number of operations in a mix for which package lab repeats the worker's random
// choice of operations, in order to count how often each operation is chosen.
const maxChosen = 10_000_000

// expectations returns the expectations of the plan's phases, by the name of the phase.
func expectations(p *plan.Plan, seed uint64, back *readable, sums *hasher) (map[string]Expectation, error) {
	gen, err := plan.NewGenerator(seed, p)
	if err != nil {
		return nil, err
	}
	expect := map[string]Expectation{}
	if err := sums.begin(p, gen); err != nil {
		return nil, err
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Untimed && ph.Insert == nil || ph.HTTP != nil {
			continue
		}
		e := Expectation{Operations: -1, Rows: -1}
		switch {
		case ph.Insert != nil:
			e.Rows = 0
			for _, name := range ph.Insert.Sets {
				e.Rows += p.DataSet(name).Total
			}
			e.Operations = e.Rows
			if e.Tables, err = sums.tables(back.tables[ph.Name], ph); err != nil {
				return nil, fmt.Errorf("phase %s: %w", ph.Name, err)
			}
		case ph.Query != nil:
			if e, err = expectedOfQuery(gen, p, ph.Query, sums.tell); err != nil {
				return nil, fmt.Errorf("phase %s: %w", ph.Name, err)
			}
		case ph.Mix != nil:
			if n := ph.Mix.Count; n > 0 {
				e.Operations = n
				e.Executions = executions(gen, ph)
			}
		case ph.Replay != nil:
			e.Operations = int64(ph.Replay.Events.Len())
		default:
			e.Operations, e.Rows = 1, 0
		}
		expect[ph.Name] = e
	}
	return expect, nil
}

func expectedOfQuery(gen *plan.Gen, p *plan.Plan, q *plan.Query, tell func(done, total int64)) (Expectation, error) {
	times := q.Repeat * int64(max(q.Clients, 1))
	e := Expectation{Operations: times, Rows: -1}
	if q.ForEach != "" {
		e.Operations *= p.DataSet(q.ForEach).Total
	}
	if q.Rows >= 0 {
		e.Rows = q.Rows * e.Operations
	}
	if q.Returns != nil {
		sum, rows, err := gen.Expected(q.Returns, tell)
		if err != nil {
			return e, err
		}
		e.Checksum, e.Rows = sum, rows*times
	}
	return e, nil
}

// executions counts how often each operation of a mix with a fixed count is chosen. The seed of the
// generator, in the parameter "gen", determines these choices. executions returns nil if the count exceeds
// maxChosen.
func executions(gen *plan.Gen, p *plan.Phase) []int64 {
	if p.Mix.Count > maxChosen {
		return nil
	}
	counts := make([]int64, len(p.Mix.Operations))
	var order []uint8
	for first := int64(0); first < p.Mix.Count; first += int64(len(order)) {
		order = gen.Order(order[:0], p.Name, p.Mix.Operations, first, 1, int(min(p.Mix.Count-first, 1<<16)))
		for _, i := range order {
			counts[i]++
		}
	}
	return counts
}
