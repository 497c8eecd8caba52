package recommend

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Matters is the least difference of times that decides between candidates, as a fraction of the
// time.
const Matters = 0.05

// muchLess is the ratio of memory, size or tail latency below which a candidate has a clear
// advantage.
const muchLess = 0.8

// Verdict says whether the facts are enough to recommend one candidate.
type Verdict string

// The verdicts.
const (
	Take        Verdict = "take"        // one candidate is recommended
	Conditional Verdict = "conditional" // one candidate is recommended if the user can avoid what triggers its defects; all candidates have defects
	Undecided   Verdict = "undecided"   // the facts do not decide between several candidates
	None        Verdict = "none"        // no candidate gave the right answers
)

// Advice is a recommendation.
type Advice struct {
	Verdict  Verdict     `json:"verdict"`
	Take     string      `json:"take,omitempty"`  // the recommended candidate, if Verdict is Take or Conditional
	Among    []string    `json:"among,omitempty"` // the candidates between which the facts do not decide; only if Verdict is Undecided
	Because  []Reason    `json:"because,omitempty"`
	Rejected []Rejection `json:"rejected,omitempty"`
	Overturn []Overturn  `json:"overturn,omitempty"`

	// Hidden is the greatest difference of times that noise may hide if the verdict is undecided.
	// For example, it is 0.3 if one candidate may take 1.3 times as long as another. It is 0 if all
	// differences are too small to matter. Untold is true if the times of two candidates cannot be
	// compared, or if it is not yet clear which of them fails more often.
	Hidden float64 `json:"hidden,omitempty"`
	Untold bool    `json:"untold,omitempty"`

	// Further estimates how many more rounds would decide between the candidates. It is 0 if no number of
	// rounds would decide. If it is [stats.MaxRounds], at least that many rounds are needed.
	Further int `json:"further_rounds,omitempty"`
}

// Advantage is a property in which a candidate is clearly better than another.
type Advantage string

// The advantages.
const (
	Faster      Advantage = "faster"
	Only        Advantage = "only" // all other candidates were rejected
	ShorterTail Advantage = "shorter-tail"
	LessMemory  Advantage = "less-memory"
	Smaller     Advantage = "smaller"      // the candidate's binary is smaller
	WithoutC    Advantage = "without-c"    // building the candidate needs no C compiler
	DatabaseSQL Advantage = "database-sql" // the driver is used through database/sql
	FewerRisks  Advantage = "fewer-risks"  // no known defect of this candidate may do harm in the measured workloads, but a defect of the other candidate may
)

// Reason is one advantage of the candidate Of over the candidate Over.
type Reason struct {
	Of        string         `json:"of"`
	Advantage Advantage      `json:"advantage"`
	Over      string         `json:"over,omitempty"`
	Ratio     *stats.Summary `json:"ratio,omitempty"` // time or tail latency of the candidate Over, divided by the same figure of the candidate Of
	Own       int64          `json:"own,omitempty"`   // memory or size of Of, in bytes
	Others    int64          `json:"others,omitempty"`
}

// Cause is why a candidate is not recommended.
type Cause string

// The causes why a candidate is not recommended.
const (
	CauseStatus Cause = "status" // a case of the candidate is wrong, refused, failed or unavailable
	CauseDefect Cause = "defect" // a known defect of the candidate can lose, damage or falsify data
	CauseErrors Cause = "errors" // more operations fail than with another candidate, so times are not comparable
	CauseSlower Cause = "slower"
	CauseLess   Cause = "dominated" // as fast as the recommended candidate, but not better in any property
)

// Rejection is a candidate that is not recommended, with the cause.
type Rejection struct {
	Name    string           `json:"name"`
	Cause   Cause            `json:"cause"`
	Status  result.Status    `json:"status,omitempty" jsonschema:"enum=not measured"`
	Message string           `json:"message,omitempty"` // error message that explains Status
	Defects []defects.Defect `json:"defects,omitempty"`
	Failed  int64            `json:"failed,omitempty"` // failed operations, if Cause is CauseErrors
	Ratio   *stats.Summary   `json:"ratio,omitempty"`  // time of this candidate divided by the time of the recommended candidate; nil if unknown

	// AsFast is true if the cause is a status or a defect and this candidate is not clearly slower
	// than the recommended candidate.
	AsFast bool `json:"as_fast,omitempty"`
}

// Change is a kind of change that would overturn a recommendation.
type Change string

// The changes that would overturn a recommendation.
const (
	ChangeDefect Change = "defect" // the candidate's defects are fixed, or the user avoids what triggers them
	ChangeStatus Change = "status" // the candidate no longer is wrong, refused, failed or unavailable
	ChangeNeed   Change = "need"   // the user needs an advantage that the candidate has and the recommended one lacks
	ChangeCell   Change = "cell"   // only one cell (a phase with its settings) matters to the user
	ChangeRounds Change = "rounds" // the facts are measured with more rounds, at a larger scale or on a quieter machine
)

// Overturn is a change that would overturn a recommendation, and the candidate that would gain by
// it.
type Overturn struct {
	Change    Change           `json:"change"`
	For       string           `json:"for,omitempty"`
	Advantage Advantage        `json:"advantage,omitempty"` // the advantage that the user needs, if Change is ChangeNeed
	Cell      *stats.TableName `json:"cell,omitempty"`      // the only cell that matters, if Change is ChangeCell
	Ratio     *stats.Summary   `json:"ratio,omitempty"`     // time of the candidate For divided by the time of the recommended candidate; but if Change is ChangeCell, time of the second-fastest driver in Cell divided by the time of For
	Own       int64            `json:"own,omitempty"`
	Others    int64            `json:"others,omitempty"`

	// Among lists the candidates between which the facts would not decide if the defects of the candidate For
	// were fixed. It is nil if For would be recommended after the fix, and for changes other than
	// ChangeDefect.
	Among []string `json:"among,omitempty"`
}

// Decide recommends a candidate from the facts.
//
// A candidate that gave a wrong answer, or none, is never recommended. A candidate with a known
// defect that can falsify data here is recommended only if all candidates have such a defect. A
// candidate that fails significantly more often than another is not recommended either. Of the
// remaining candidates Decide recommends the fastest, if its lead is clear and large enough to
// matter. If several are equally fast, Decide recommends one only if it is clearly better than
// each of the others in something and clearly worse in nothing. Otherwise it recommends none,
// because the facts cannot say which advantage counts more.
func Decide(f *Facts) *Advice {
	a, taken, sound := f.choose()
	if taken >= 0 {
		f.overturn(a, taken, sound)
	}
	return a
}

// choose makes the advice, without the changes that the method "overturn" adds to it. It returns the index of
// the recommended candidate, or -1, and the indexes of the candidates among which it chose.
func (f *Facts) choose() (a *Advice, taken int, sound []int) {
	a = &Advice{}
	var right []int
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Status != result.OK {
			continue
		}
		if right = append(right, i); c.Falsifying() == nil {
			sound = append(sound, i)
		}
	}
	switch {
	case len(right) == 0:
		a.Verdict = None
		f.reject(a, -1, nil)
		return a, -1, nil
	case len(sound) == 0:
		sound = right
		a.Verdict = Conditional
	}
	sound = f.working(sound)
	leaders := f.leaders(sound)
	taken = leaders[0]
	if len(leaders) > 1 {
		a.Hidden, a.Untold, a.Further = f.hidden(leaders)
		taken = f.dominant(leaders)
		if a.Hidden > 0 || a.Untold {
			taken = -1
		}
	}
	if taken < 0 {
		a.Verdict = Undecided
		a.Among = f.names(leaders)
		for _, i := range leaders {
			a.Because = append(a.Because, f.advantagesOver(i, leaders)...)
		}
		if a.Hidden > 0 || a.Untold {
			a.Overturn = append(a.Overturn, Overturn{Change: ChangeRounds})
		}
		f.reject(a, leaders[0], leaders)
		return a, -1, nil
	}
	if a.Verdict == "" {
		a.Verdict = Take
	}
	a.Take = f.Candidates[taken].Name
	a.Because = f.because(taken, sound, leaders)
	f.reject(a, taken, []int{taken})
	return a, taken, sound
}

// without returns a copy of the facts in which candidate i has no defects that can falsify data.
func (f *Facts) without(i int) *Facts {
	next := *f
	next.Candidates = slices.Clone(f.Candidates)
	next.Candidates[i].Harmful = slices.DeleteFunc(slices.Clone(f.Candidates[i].Harmful), func(d defects.Defect) bool { return d.Effect.Falsifies() })
	return &next
}

// working returns the candidates of the list "among", without those that fail significantly more
// often than another candidate of the list.
func (f *Facts) working(among []int) []int {
	return unless(among, func(i int) bool {
		return slices.ContainsFunc(among, func(j int) bool { return f.failsMore(i, j) })
	})
}

func (f *Facts) index(name string) int {
	return slices.IndexFunc(f.Candidates, func(c Candidate) bool { return c.Name == name })
}

func (f *Facts) names(among []int) []string {
	return document.Map(among, func(i int) string { return f.Candidates[i].Name })
}

func (f *Facts) failsMore(x, y int) bool {
	return slices.Contains(f.Failures, MoreFailed{More: f.Candidates[x].Name, Than: f.Candidates[y].Name})
}

// Open returns the undecided comparisons of failed operations between candidates of the list
// "among".
func (f *Facts) Open(among []string) (list []MoreFailed) {
	for _, m := range f.Failures {
		if m.Further > 0 && slices.Contains(among, m.More) && slices.Contains(among, m.Than) {
			list = append(list, m)
		}
	}
	return list
}

// Pair returns the comparison of candidates x and y, with the ratios of y to x. ok is false if one
// of them has no figures.
func (f *Facts) Pair(x, y int) (p Pair, ok bool) {
	i := slices.IndexFunc(f.Pairs, func(p Pair) bool { return p.First == min(x, y) && p.Second == max(x, y) })
	if i < 0 {
		return p, false
	}
	if p = f.Pairs[i]; y < x {
		p.Time = p.Time.Inverse()
		if p.Tail != nil {
			t := p.Tail.Inverse()
			p.Tail = &t
		}
	}
	return p, true
}

// slower reports whether y is clearly slower than x.
func (f *Facts) slower(x, y int) bool {
	p, ok := f.Pair(x, y)
	return ok && p.Told && p.Time.Median >= 1+Matters
}

// ratio returns the time of y divided by the time of x, or nil if one of them has no figures.
func (f *Facts) ratio(x, y int) *stats.Summary {
	if p, ok := f.Pair(x, y); ok {
		return &p.Time
	}
	return nil
}

// leaders returns the candidates of the list "among", without those that are clearly slower than
// another candidate of the list. The order remains: the fastest is first.
func (f *Facts) leaders(among []int) []int {
	return unless(among, func(y int) bool {
		return slices.ContainsFunc(among, func(x int) bool { return x != y && f.slower(x, y) })
	})
}

// unless returns the candidates of the list "among" for which worse() is false. If worse() is true
// for all of them, it returns the complete list. This happens if each candidate is worse than the
// next, in a circle.
func unless(among []int, worse func(int) bool) []int {
	if list := slices.DeleteFunc(slices.Clone(among), worse); len(list) > 0 {
		return list
	}
	return among
}

// hidden returns the greatest difference of times that may exist between two candidates of the list "among",
// according to the confidence interval of the difference. It ignores pairs whose difference is significant or
// certainly less than Matters. The result "untold" reports whether two of the candidates have no interval, or
// whether it is not yet clear which of them fails more often. The result "further" estimates how many more
// rounds would show the difference.
func (f *Facts) hidden(among []int) (most float64, untold bool, further int) {
	for k, x := range among {
		for _, y := range among[k+1:] {
			p, ok := f.Pair(x, y)
			further = max(further, p.Further)
			switch i := p.Time.Interval; {
			case !ok || i == nil || i.Low <= 0:
				untold = true
			case p.Told: // the difference is clear, but too small to matter
			case i.High > 1+Matters || i.Low < 1/(1+Matters):
				most = max(most, i.High-1, 1/i.Low-1)
			}
		}
	}
	for _, m := range f.Open(f.names(among)) {
		untold, further = true, max(further, m.Further)
	}
	return most, untold, further
}

// dominant returns the candidate of the list "among" that has an advantage over each of the
// others, if none of the others has an advantage over this candidate. It returns -1 if there is no
// such candidate.
func (f *Facts) dominant(among []int) int {
	for _, x := range among {
		if !slices.ContainsFunc(among, func(y int) bool {
			return x != y && (len(f.advantages(y, x)) > 0 || len(f.advantages(x, y)) == 0)
		}) {
			return x
		}
	}
	return -1
}

// advantages lists the advantages of candidate x over y, apart from speed.
func (f *Facts) advantages(x, y int) (list []Reason) {
	a, b := &f.Candidates[x], &f.Candidates[y]
	note := func(r Reason) {
		r.Of, r.Over = a.Name, b.Name
		list = append(list, r)
	}
	if len(a.Harmful) == 0 && len(b.Harmful) > 0 {
		note(Reason{Advantage: FewerRisks, Others: int64(len(b.Harmful))})
	}
	if p, _ := f.Pair(x, y); p.tailTold && p.Tail.Interval != nil && p.Tail.Interval.Low > 1 && p.Tail.Median > 1/muchLess {
		note(Reason{Advantage: ShorterTail, Ratio: p.Tail})
	}
	less := func(own, others int64) bool { return own > 0 && float64(own) < muchLess*float64(others) }
	if f.lessMemory[[2]string{f.Candidates[min(x, y)].Name, f.Candidates[max(x, y)].Name}] && less(a.MemoryBytes, b.MemoryBytes) {
		note(Reason{Advantage: LessMemory, Own: a.MemoryBytes, Others: b.MemoryBytes})
	}
	if a.Footprint != nil && b.Footprint != nil && less(a.Footprint.SizeBytes, b.Footprint.SizeBytes) {
		note(Reason{Advantage: Smaller, Own: a.Footprint.SizeBytes, Others: b.Footprint.SizeBytes})
	}
	if a.WithoutC() && !b.WithoutC() {
		note(Reason{Advantage: WithoutC})
	}
	if a.Info.Interface == "database/sql" && b.Info.Interface != "database/sql" {
		note(Reason{Advantage: DatabaseSQL})
	}
	return list
}

// advantagesOver lists the advantages of x over any candidate of the list "others", each advantage
// once.
func (f *Facts) advantagesOver(x int, others []int) (list []Reason) {
	for _, y := range others {
		if y == x {
			continue
		}
		for _, r := range f.advantages(x, y) {
			if !slices.ContainsFunc(list, func(old Reason) bool { return old.Advantage == r.Advantage }) {
				list = append(list, r)
			}
		}
	}
	return list
}

func (f *Facts) because(taken int, sound, leaders []int) (list []Reason) {
	name := f.Candidates[taken].Name
	if at := slices.IndexFunc(sound, func(y int) bool { return f.slower(taken, y) }); at >= 0 {
		next := sound[at] // the fastest candidate that is clearly slower than the recommended candidate
		list = append(list, Reason{Of: name, Advantage: Faster, Over: f.Candidates[next].Name, Ratio: f.ratio(taken, next)})
	}
	if len(leaders) > 1 {
		list = append(list, f.advantagesOver(taken, leaders)...)
	}
	if len(list) == 0 && len(sound) == 1 {
		list = append(list, Reason{Of: name, Advantage: Only})
	}
	return list
}

// reject adds each candidate that is not in the list "taken" to a.Rejected, with the cause. The
// parameter "to" is the index of the candidate that ratios are relative to. If it is -1, there are
// no ratios.
func (f *Facts) reject(a *Advice, to int, taken []int) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if slices.Contains(taken, i) {
			continue
		}
		r := Rejection{Name: c.Name}
		if to >= 0 {
			r.Ratio = f.ratio(to, i)
		}
		switch {
		case c.Status != result.OK:
			r.Cause, r.Status = CauseStatus, c.Status
			if c.Reason != nil {
				r.Message = c.Where + ": " + c.Reason.Message
			}
		case a.Verdict != Conditional && c.Falsifying() != nil:
			r.Cause, r.Defects = CauseDefect, c.Falsifying()
		case slices.ContainsFunc(f.Failures, func(m MoreFailed) bool { return m.More == c.Name && m.Further == 0 }):
			r.Cause, r.Failed = CauseErrors, c.Failed-c.Replayed
		case to >= 0 && f.slower(to, i):
			r.Cause = CauseSlower
		default:
			r.Cause = CauseLess
		}
		r.AsFast = to >= 0 && r.Ratio != nil && (r.Cause == CauseStatus || r.Cause == CauseDefect) && !f.slower(to, i)
		a.Rejected = append(a.Rejected, r)
	}
}

func (f *Facts) overturn(a *Advice, taken int, sound []int) {
	for _, r := range a.Rejected {
		i := f.index(r.Name)
		switch {
		case r.Cause == CauseDefect:
			if then, _, _ := f.without(i).choose(); then.Take == r.Name || slices.Contains(then.Among, r.Name) {
				a.Overturn = append(a.Overturn, Overturn{Change: ChangeDefect, For: r.Name, Ratio: f.ratio(taken, i), Among: then.Among})
			}
		case r.Cause == CauseStatus && !f.slower(taken, i):
			a.Overturn = append(a.Overturn, Overturn{Change: ChangeStatus, For: r.Name, Ratio: f.ratio(taken, i)})
		}
	}
	noted := map[Advantage]bool{}
	for _, i := range sound { // the candidates in "sound" are sorted by speed, the fastest first
		if i == taken {
			continue
		}
		for _, r := range f.advantages(i, taken) {
			if !noted[r.Advantage] {
				noted[r.Advantage] = true
				a.Overturn = append(a.Overturn, Overturn{Change: ChangeNeed, For: r.Of, Advantage: r.Advantage, Ratio: f.ratio(taken, i), Own: r.Own, Others: r.Others})
			}
		}
	}
	named := map[string]bool{}
	for _, l := range f.Leads {
		i := f.index(l.Name)
		if i != taken && slices.Contains(sound, i) && !named[l.Name] && len(f.Cells) > 1 {
			named[l.Name] = true
			a.Overturn = append(a.Overturn, Overturn{Change: ChangeCell, For: l.Name, Cell: &l.Cell, Ratio: &l.Ratio})
		}
	}
}
