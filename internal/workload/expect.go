package workload

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// expected reads a phase's bounds on figures, such as p99: < 5ms, from the node of its key "expect". In a
// query or http phase, this node also says which results are right. Other code reads that part.
func (l *resolver) expected(n *yaml.Node, p *plan.Phase, kind string) {
	for _, e := range l.limits(n, kind == "query" || kind == "http") {
		latencies := kind == "mix" || kind == "http" || kind == "replay"
		e.Phase = p.Name
		switch {
		case p.Untimed:
			l.errorf(n, "the phase %s is untimed, so nothing can be expected of its %s: leave it out", p.Name, e.Figure)
		case ofLatency(e.Figure) && !latencies:
			l.errorf(n, "the phase %s has no latencies, so nothing can be expected of its %s: want such as time: < 5ms", p.Name, e.Figure)
		case result.IsAsked(e.Figure) && kind == "http":
			l.errorf(n, "the %s of an http phase cannot be counted, so nothing can be expected of them: leave it out", e.Figure)
		default:
			l.count(n, e.Figure)
			l.expects = append(l.expects, e)
		}
	}
}

// count turns on the setting [result.CountSyncs] if the parameter "figure" names a figure that is
// counted only with this setting.
func (l *resolver) count(n *yaml.Node, figure string) {
	if !result.IsAsked(figure) {
		return
	}
	if l.settings[result.CountSyncs] == "off" {
		l.errorf(n, "%s is off, so nothing can be expected of %s: write %[1]s: on under settings, or leave it out there", result.CountSyncs, figure)
	}
	l.settings[result.CountSyncs] = "on"
}

// expectedOfAll reads the bounds that a workload has for all its timed phases. If a phase has its own bound
// for the same figure, the bound of the workload does not apply to the phase.
func (l *resolver) expectedOfAll(n *yaml.Node) {
	for _, e := range l.limits(n, false) {
		used := false
		for i := range l.plan.Phases {
			p := &l.plan.Phases[i]
			if p.Untimed || ofLatency(e.Figure) && p.Mix == nil && p.HTTP == nil && p.Replay == nil || result.IsAsked(e.Figure) && p.HTTP != nil {
				continue
			}
			l.count(n, e.Figure)
			used = true
			if !slices.ContainsFunc(l.expects, func(own result.Expectation) bool { return own.Phase == p.Name && own.Figure == e.Figure }) {
				e.Phase = p.Name
				l.expects = append(l.expects, e)
			}
		}
		if !used && len(l.plan.Phases) > 0 {
			l.errorf(n, "no timed phase has %s, so nothing can be expected of it: want such as time: < 5ms", e.Figure)
		}
	}
}

// sortExpected sorts the expectations by the order of their phases.
func (l *resolver) sortExpected() {
	at := func(e result.Expectation) int {
		return slices.IndexFunc(l.plan.Phases, func(p plan.Phase) bool { return p.Name == e.Phase })
	}
	slices.SortStableFunc(l.expects, func(a, b result.Expectation) int { return at(a) - at(b) })
}

// limits reads bounds on figures. If the parameter "also" is true, the node may have other keys,
// which this method ignores.
func (l *resolver) limits(n *yaml.Node, also bool) (list []result.Expectation) {
	if n == nil {
		return nil
	}
	f, ok := l.mapping(n, "expect", "{p99: < 5ms, errors: 0}")
	if !ok {
		return nil
	}
	if !also {
		l.known(f, "expect", keys["expect"])
	}
	for i, k := range f.keys {
		if !slices.Contains(keys["expect"], k.Value) {
			continue
		}
		text, ok := l.text(f.values[i], k.Value, k.Value+": < 5ms")
		if !ok {
			continue
		}
		e, err := result.ParseExpectation(k.Value, text)
		if err != nil {
			l.errorf(f.values[i], "expect: %v", err)
			continue
		}
		list = append(list, e)
	}
	return list
}

func ofLatency(figure string) bool {
	return slices.Contains([]string{result.FigureP50, result.FigureP90, result.FigureP99, result.FigureMax}, figure)
}
