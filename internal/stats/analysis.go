package stats

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// NotMeasured is the status of a case without any trial that counts. It is also the status of a
// cell if the case is OK but no trial that counts has a sample of the phase.
const NotMeasured result.Status = "not measured"

// Analysis is a run with everything that was computed from its samples.
type Analysis struct {
	Run        *result.Run
	Floor      string // name of the driver that ratios are relative to, such as native; it has no rank
	Groups     []*Group
	Factorials []*Factorial // one for each workload measured with several values of settings or parameters
	Overall    Overall
	Warnings   []result.Warning // about the run as a whole, not about one case

	Reliability Reliability
	Confidence  float64 // confidence level of the intervals
}

// Group has the cases of one workload with the same scale, parameters and settings. These cases
// do the same work with different drivers.
type Group struct {
	Workload string
	Scale    string

	// Varied has the settings and parameters in which this group differs from other groups of its
	// workload.
	Varied []Variation

	Outcomes []*Outcome // in the order of the run's cases
	Tables   []*Table   // one for each phase

	shared []*Outcome // outcomes of other groups that are also valid for this group; see [Analysis.shareOutcomes]
}

// Outcome is how a case ended.
type Outcome struct {
	Case   *result.Case
	Trials []*result.Trial // in the order in which they ran
	Status result.Status

	// Reason is the reason of the first trial that ended with this Status. It is nil if Status is
	// OK.
	Reason *protocol.Reason
	Bad    int // number of trials that were not OK

	Warnings []result.Warning // about the case and its trials

	// LeftAfter is the last round in which the case was measured, if a search for settings dropped
	// the case early. Otherwise it is 0.
	LeftAfter int

	// As is the name of the case's row in a table that compares settings or parameters, not only
	// drivers. In other tables it is "".
	As string
}

// Outcomes returns the outcomes of all groups.
func (a *Analysis) Outcomes() (list []*Outcome) {
	for _, g := range a.Groups {
		list = append(list, g.Outcomes...)
	}
	return list
}

// Complete reports whether every case is OK.
func (a *Analysis) Complete() bool {
	return !slices.ContainsFunc(a.Outcomes(), func(o *Outcome) bool { return o.Status != result.OK })
}

// Analyze judges a run: it compares and ranks the drivers. The parameter "floor" is the name of the
// driver that ratios are relative to.
func Analyze(run *result.Run, floor string) *Analysis {
	a := Preview(run, floor)
	families := [][]Pair{nil}
	a.eachTable(func(_ TableName, t *Table) {
		t.compare()
		families = append(families, t.Pairs)
	})
	a.Overall = a.overall()
	families[0] = a.Overall.Pairs
	a.Reliability = adjustRun(families, looksFactor(a.Confidence))
	a.eachTable(func(_ TableName, t *Table) { t.rank() })
	a.Overall.rank()
	return a
}

// CompareFamilies compares every two sets of each family (a list of sets). A set has one figure per
// round, computed from the run's samples. The p-values are corrected as in the run's tables: for all
// families together, and for judging the samples repeatedly.
func (a *Analysis) CompareFamilies(families ...[][]Point) [][]Pair {
	pairs := make([][]Pair, len(families))
	for i, sets := range families {
		pairs[i] = CompareAll(sets, func(int) bool { return true })
	}
	adjustRun(pairs, looksFactor(a.Confidence))
	return pairs
}

// Preview puts the samples of a run into tables, with medians, ratios and intervals. The parameter
// "floor" is the name of the driver that ratios are relative to. Preview is much faster than
// [Analyze], because it does not compare the drivers' times. So no cell has a rank. It suits a run
// that is still being measured.
func Preview(run *result.Run, floor string) *Analysis {
	confidence := Confidence
	if run.Precision > 0 && run.Stopped != result.StoppedRounds { // the run measured cases until their intervals were narrow
		confidence = Sequential
	}
	return gather(run, floor, confidence)
}

func gather(run *result.Run, floor string, confidence float64) *Analysis {
	a := &Analysis{Run: run, Floor: floor, Confidence: confidence}
	byKey := map[string]*Group{}
	for _, o := range a.judgeCases() {
		k := groupKey(o.Case)
		g := byKey[k]
		if g == nil {
			g = &Group{Workload: o.Case.Workload, Scale: o.Case.Scale}
			byKey[k] = g
			a.Groups = append(a.Groups, g)
		}
		g.Outcomes = append(g.Outcomes, o)
	}
	a.nameVariants()
	a.shareOutcomes()
	for _, g := range a.Groups {
		g.verifyChecksums()
	}
	for _, g := range a.Groups {
		for _, phase := range g.phases() {
			g.Tables = append(g.Tables, g.table(phase, floor, confidence))
		}
	}
	a.Factorials = a.factorials()
	a.compareFailures()
	return a
}

// Proof returns what a worker of the driver reported about itself, such as its version of SQLite.
// It returns nil if no trial of the driver has such a report.
func (a *Analysis) Proof(driver string) *protocol.Proof {
	for _, o := range a.Outcomes() {
		if p := o.Proof(); p != nil && o.Case.Driver == driver {
			return p
		}
	}
	return nil
}

// InForce returns the settings that were in force in a trial of the case, as the worker read them
// back. They include the defaults of settings that nobody set. If the parameter "asked" has a
// setting, InForce returns the value in "asked" instead.
func (o *Outcome) InForce(asked driver.Settings) driver.Settings {
	if p := o.Proof(); p != nil && len(p.Connections) > 0 {
		return p.Connections[0].With(asked)
	}
	return asked
}

// Proof returns what a worker reported about itself in a trial of the case. It returns nil if no
// trial has such a report.
func (o *Outcome) Proof() *protocol.Proof {
	for _, t := range o.Trials {
		if t.Proof != nil {
			return t.Proof
		}
	}
	return nil
}

// judgeCases returns the outcome of each case of the run. It adds the warnings that are not about a
// case to a.Warnings.
func (a *Analysis) judgeCases() []*Outcome {
	byID := map[int]*Outcome{}
	var list []*Outcome
	for i := range a.Run.Cases {
		c := &a.Run.Cases[i]
		o := &Outcome{Case: c}
		list = append(list, o)
		byID[c.ID] = o
	}
	for i := range a.Run.Trials {
		if o := byID[a.Run.Trials[i].Case]; o != nil {
			o.Trials = append(o.Trials, &a.Run.Trials[i])
		}
	}
	for _, w := range a.Run.Warnings {
		if o := byID[w.Case]; o != nil {
			o.Warnings = append(o.Warnings, w)
		} else {
			a.Warnings = append(a.Warnings, w)
		}
	}
	for _, o := range list {
		o.judge()
		if s := a.Run.Search; s != nil && !s.Confirms {
			for _, t := range o.Trials {
				o.LeftAfter = max(o.LeftAfter, t.Round)
			}
			if o.LeftAfter >= a.Run.Rounds {
				o.LeftAfter = 0
			}
		}
	}
	return list
}

// severity lists the statuses of trials, the worst first. A case has the worst status of its
// trials.
var severity = []result.Status{result.Wrong, result.Refused, result.Failed, result.Unavailable}

func (o *Outcome) judge() {
	slices.SortStableFunc(o.Trials, func(a, b *result.Trial) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Round, b.Round))
	})
	o.Status = result.OK
	again := func(t *result.Trial) bool { return t.Repeated && t.Status != result.OK } // t failed, and its case was measured again later
	if !slices.ContainsFunc(o.Trials, func(t *result.Trial) bool { return !t.Repeated }) {
		o.Status = NotMeasured
		o.Reason = &protocol.Reason{Code: protocol.CodeNoTrial, Message: "the run ended before its first trial"}
		if slices.ContainsFunc(o.Trials, func(t *result.Trial) bool { return !again(t) }) {
			o.Reason.Message = "its trial does not count, and the run ended before it was measured again"
		}
	}
	worst := len(severity)
	measured := slices.ContainsFunc(o.Trials, func(t *result.Trial) bool {
		status, _ := trialStatus(t)
		return status == result.OK && !t.Repeated
	})
	for _, t := range o.Trials {
		for _, w := range t.Warnings {
			w.Case = o.Case.ID
			w.Round = cmp.Or(w.Round, t.Round)
			o.Warnings = append(o.Warnings, w)
		}
		status, reason := trialStatus(t)
		if status == result.OK || again(t) {
			continue
		}
		o.Bad++
		if measured && reason.Code == protocol.CodeCheck {
			// A check that did not end says nothing about the driver. The measurements of the
			// other trials stay valid.
			o.Warnings = append(o.Warnings, result.Warning{Code: result.WarningUnverified, Case: o.Case.ID, Round: t.Round, Phase: reason.Phase, Message: "a trial does not count: " + reason.Message})
			continue
		}
		if i := slices.Index(severity, status); i < worst {
			worst, o.Status, o.Reason = i, status, reason
		}
	}
}

func trialStatus(t *result.Trial) (result.Status, *protocol.Reason) {
	switch {
	case t.Status == result.OK:
		for i := range t.Samples {
			s := &t.Samples[i]
			if s.WallNS < 0 || s.Operations < 0 {
				return result.Failed, &protocol.Reason{Code: protocol.CodeProtocol, Phase: s.Phase, Message: "a time or count is negative"}
			}
			if s.Operations <= s.Failed && (s.Metric == result.MetricTimePerOp || s.Metric == result.MetricLatency) {
				return result.Failed, &protocol.Reason{Code: protocol.CodeNoOperation, Phase: s.Phase, Message: "no operation succeeded" + firstError(s)}
			}
		}
		return result.OK, nil
	case !slices.Contains(severity, t.Status):
		return result.Failed, &protocol.Reason{Code: protocol.CodeProtocol, Message: fmt.Sprintf("the trial ended with unknown status %q", t.Status)}
	case t.Reason == nil:
		return t.Status, &protocol.Reason{Code: string(t.Status), Message: "no reason was recorded"}
	}
	return t.Status, t.Reason
}

func firstError(s *result.Sample) string {
	if len(s.Errors) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d × %s)", s.Errors[0].Count, s.Errors[0].Name)
}

func groupKey(c *result.Case) string {
	return fmt.Sprintf("%q %s %q %v %q", c.Workload, c.WorkloadSHA256, c.Scale, c.Parameters, c.Settings)
}

func (g *Group) phases() []string {
	var list []string
	for _, o := range g.Outcomes {
		list = distinct.Append(list, o.Case.Phases...)
	}
	return list
}

func (o *Outcome) samples(phase string) []Sample { return o.measured(phase, false) }

// measured returns the samples of a phase from the case's trials that are OK. If the parameter "repeated" is
// true, it also returns the samples of trials that do not count because they were measured again.
func (o *Outcome) measured(phase string, repeated bool) []Sample {
	var list []Sample
	for _, t := range o.Trials {
		if t.Repeated && !repeated || !t.Repeated && t.Status != result.OK {
			continue
		}
		if i := slices.IndexFunc(t.Samples, func(s result.Sample) bool { return s.Phase == phase }); i >= 0 {
			list = append(list, Sample{t.Round, &t.Samples[i]})
		}
	}
	return list
}

func (o *Outcome) cell(phase string) *Cell {
	c := &Cell{Outcome: o, Status: o.Status}
	if o.Status == result.OK {
		if c.Samples = o.samples(phase); len(c.Samples) == 0 {
			c.Status = NotMeasured
		}
	}
	return c
}

func (c *Cell) summarize(t *Table) {
	c.perOp = t.PerOp
	if c.Outcome.Status == result.OK {
		c.Summary = SummarizeAt(Values(c.Points()), t.confidence)
	}
}
