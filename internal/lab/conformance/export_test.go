package conformance

import (
	"context"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Answers runs the workloads whose results cannot be computed from generators, and returns the worker's
// answers. For the Go engine these answers are the content of answers.json.
func Answers(ctx context.Context, s *Subject) (map[string]answer, error) {
	all := map[string]answer{}
	for _, text := range []string{pieces, queries, mixed, during, yaml("rated"), yaml("booking"), yaml("guarded"), yaml("scripted")} {
		own := *s
		c, t, err := own.trial(ctx, text, driver.Settings{})
		if err != nil {
			return nil, err
		}
		for _, m := range t.Samples {
			if c.Expect[m.Phase].Checksum != "" || m.Checksum == "" {
				continue
			}
			a := answer{Checksum: m.Checksum}
			for _, r := range m.Results {
				if a.Results == nil {
					a.Results = map[string]int64{}
				}
				a.Results[r.Name] = r.Count
			}
			for _, l := range m.Latency {
				if mix(c.Plan, m.Phase) && c.Workload != "during" { // in the workload "during", the number of operations depends on the machine
					if a.Operations == nil {
						a.Operations = map[string]int64{}
					}
					a.Operations[l.Operation] = l.Count
					if l.EndedEarly > 0 {
						if a.EndedEarly == nil {
							a.EndedEarly = map[string]int64{}
						}
						a.EndedEarly[l.Operation] = l.EndedEarly
					}
				}
			}
			all[c.Workload+"/"+m.Phase] = a
		}
	}
	return all, nil
}

func mix(p *plan.Plan, phase string) bool {
	for i := range p.Phases {
		if p.Phases[i].Name == phase {
			return p.Phases[i].Mix != nil
		}
	}
	return false
}
