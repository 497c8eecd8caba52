package advise

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Matters is the least difference of speed that decides, as a share of the time.
const Matters = 0.05

// muchLess is the ratio of memory, size or tail below which a candidate has a clear advantage.
const muchLess = 0.8

// Verdict is how far the facts go.
type Verdict string

// The verdicts.
const (
	Take        Verdict = "take"        // one candidate
	Conditional Verdict = "conditional" // one, if the user can avoid what its defects need; all candidates have defects
	Undecided   Verdict = "undecided"   // the facts do not decide between several candidates
	None        Verdict = "none"        // no candidate gave the right answers
)

// Advice is a recommendation.
type Advice struct {
	Verdict  Verdict     `json:"verdict"`
	Take     string      `json:"take,omitempty"`  // of Take and Conditional
	Among    []string    `json:"among,omitempty"` // of Undecided
	Because  []Reason    `json:"because,omitempty"`
	Rejected []Rejection `json:"rejected,omitempty"`
	Overturn []Overturn  `json:"overturn,omitempty"`

	// Hidden is the greatest difference that the noise may hide if the verdict is undecided: 0.3
	// if one candidate may take 1.3 times as long as another. It is 0 if all differences are
	// too small to matter. Untold is true if the times of two candidates cannot be compared.
	Hidden float64 `json:"hidden,omitempty"`
	Untold bool    `json:"untold,omitempty"`

	// Further is an estimate of how many more rounds would decide. It is 0 if no number of rounds
	// would, and [stats.MaxRounds] if it takes that many or more.
	Further int `json:"further_rounds,omitempty"`
}

// Advantage is the respect in which a candidate is clearly better than another.
type Advantage string

// The advantages.
const (
	Faster      Advantage = "faster"
	Only        Advantage = "only" // no other candidate is left
	ShorterTail Advantage = "shorter-tail"
	LessMemory  Advantage = "less-memory"
	Smaller     Advantage = "smaller"      // the binary
	WithoutC    Advantage = "without-c"    // no C compiler
	DatabaseSQL Advantage = "database-sql" // it is used through database/sql
	FewerRisks  Advantage = "fewer-risks"  // the other has known defects that may do harm, it has none
)

// Reason is an advantage of a candidate over another.
type Reason struct {
	Of        string         `json:"of"`
	Advantage Advantage      `json:"advantage"`
	Over      string         `json:"over,omitempty"`
	Ratio     *stats.Summary `json:"ratio,omitempty"` // of the other's time or tail to its own
	Own       int64          `json:"own,omitempty"`   // bytes
	Others    int64          `json:"others,omitempty"`
}

// Cause is why a candidate is not taken.
type Cause string

// The causes.
const (
	CauseStatus Cause = "status" // it is wrong, refused, failed or unavailable in some cell
	CauseDefect Cause = "defect" // a known defect can lose, damage or falsify data
	CauseErrors Cause = "errors" // more operations fail than with another, so their times do not compare
	CauseSlower Cause = "slower"
	CauseLess   Cause = "dominated" // as fast as the one that is taken, and nowhere better
)

// Rejection is a candidate that is not taken.
type Rejection struct {
	Name    string           `json:"name"`
	Cause   Cause            `json:"cause"`
	Status  result.Status    `json:"status,omitempty" jsonschema:"enum=not measured"`
	Message string           `json:"message,omitempty"` // of the status
	Defects []defects.Defect `json:"defects,omitempty"`
	Failed  int64            `json:"failed,omitempty"` // of CauseErrors
	Ratio   *stats.Summary   `json:"ratio,omitempty"`  // of its time to that of the one that is taken; nil if that is not known

	// AsFast is true if the cause is a status or a defect and the candidate is not clearly slower
	// than the one that is taken.
	AsFast bool `json:"as_fast,omitempty"`
}

// Change is what would overturn a recommendation.
type Change string

// The changes.
const (
	ChangeDefect Change = "defect" // the defects are fixed, or what they need is excluded
	ChangeStatus Change = "status" // the cause of its status is fixed
	ChangeNeed   Change = "need"   // the need for an advantage that the candidate has and the taken one lacks
	ChangeCell   Change = "cell"   // one cell is all that counts
	ChangeRounds Change = "rounds" // more rounds, a larger scale or a quieter machine
)

// Overturn is what would overturn a recommendation, and in whose favor.
type Overturn struct {
	Change    Change           `json:"change"`
	For       string           `json:"for,omitempty"`
	Advantage Advantage        `json:"advantage,omitempty"` // of ChangeNeed
	Cell      *stats.TableName `json:"cell,omitempty"`      // of ChangeCell
	Ratio     *stats.Summary   `json:"ratio,omitempty"`     // of its time to that of the one that is taken
	Own       int64            `json:"own,omitempty"`
	Others    int64            `json:"others,omitempty"`

	// Among are the candidates between which the facts would not decide after a ChangeDefect. It
	// is nil if For would then be taken.
	Among []string `json:"among,omitempty"`
}

// Decide says which candidate to take.
//
// A candidate that gave a wrong answer, or none, is never taken. A candidate with a known defect
// that can falsify data here is taken only if all have one. Of the others the fastest is taken, if
// its lead is clear and large enough to matter. If several are equally fast, one of them is taken if
// it is clearly better in something and nowhere clearly worse, because the facts cannot say
// which advantage counts more.
func Decide(f *Facts) *Advice {
	a, taken, sound := f.choose()
	if taken >= 0 {
		f.overturn(a, taken, sound)
	}
	return a
}

// choose makes the advice without [Advice.Overturn]. It returns the candidate that is taken, or
// -1, and the candidates among which it was chosen.
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

// without returns the facts as they would be if a candidate had no defects that can falsify
// data.
func (f *Facts) without(i int) *Facts {
	next := *f
	next.Candidates = slices.Clone(f.Candidates)
	next.Candidates[i].Harmful = slices.DeleteFunc(slices.Clone(f.Candidates[i].Harmful), func(d defects.Defect) bool { return d.Effect.Falsifies() })
	return &next
}

// working returns those of the candidates that do not fail significantly more often than another.
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

// Open returns the comparisons of failed operations between candidates that are not decided yet.
func (f *Facts) Open(among []string) (list []MoreFailed) {
	for _, m := range f.Failures {
		if m.Further > 0 && slices.Contains(among, m.More) && slices.Contains(among, m.Than) {
			list = append(list, m)
		}
	}
	return list
}

// pair returns the comparison of two candidates, with the ratios of y to x. ok is false if they
// have no figures.
func (f *Facts) pair(x, y int) (p Pair, ok bool) {
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
	p, ok := f.pair(x, y)
	return ok && p.Told && p.Time.Median >= 1+Matters
}

// ratio returns the ratio of y's time to x's, or nil.
func (f *Facts) ratio(x, y int) *stats.Summary {
	if p, ok := f.pair(x, y); ok {
		return &p.Time
	}
	return nil
}

// leaders returns those of the candidates than which no other is clearly faster, the fastest first.
func (f *Facts) leaders(among []int) []int {
	return unless(among, func(y int) bool {
		return slices.ContainsFunc(among, func(x int) bool { return x != y && f.slower(x, y) })
	})
}

// unless returns the candidates that are not worse than another. It returns all if each is worse
// than another, in a circle.
func unless(among []int, worse func(int) bool) []int {
	if list := slices.DeleteFunc(slices.Clone(among), worse); len(list) > 0 {
		return list
	}
	return among
}

// hidden returns the greatest difference that may be between any two of these: how far their
// intervals reach beyond what matters. untold says that two of them have no interval. further is
// an estimate of how many more rounds would show the difference.
func (f *Facts) hidden(among []int) (most float64, untold bool, further int) {
	for k, x := range among {
		for _, y := range among[k+1:] {
			p, ok := f.pair(x, y)
			further = max(further, p.Further)
			switch i := p.Time.Interval; {
			case !ok || i == nil || i.Low <= 0:
				untold = true
			case p.Told: // by less than matters
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

// dominant returns the candidate that is better than each other in something and worse than none
// in anything, or -1.
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

// advantages lists in what x is clearly better than y, apart from its speed.
func (f *Facts) advantages(x, y int) (list []Reason) {
	a, b := &f.Candidates[x], &f.Candidates[y]
	note := func(r Reason) {
		r.Of, r.Over = a.Name, b.Name
		list = append(list, r)
	}
	if len(a.Harmful) == 0 && len(b.Harmful) > 0 {
		note(Reason{Advantage: FewerRisks, Others: int64(len(b.Harmful))})
	}
	if p, _ := f.pair(x, y); p.tailTold && p.Tail.Interval != nil && p.Tail.Interval.Low > 1 && p.Tail.Median > 1/muchLess {
		note(Reason{Advantage: ShorterTail, Ratio: p.Tail})
	}
	less := func(own, others int64) bool { return own > 0 && float64(own) < muchLess*float64(others) }
	if f.lessMemory[[2]int{min(x, y), max(x, y)}] && less(a.MemoryBytes, b.MemoryBytes) {
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

// advantagesOver lists the advantages of x over any of others, each over the first.
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
		next := sound[at] // the fastest that is clearly slower
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

// reject says why candidates are not taken. Ratios are to the candidate with index to.
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
	for _, i := range sound { // the fastest first
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
