package recommend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Recommendation says which driver of a run to take.
type Recommendation struct {
	*Advice
	Needs []Need `json:"needs,omitempty"` // advice for needs that the recommended driver does not meet
	Facts *Facts `json:"-"`
}

// Need is the advice on the drivers that meet a need.
type Need struct {
	DatabaseSQL bool `json:"database_sql"` // the driver is used through database/sql
	WithoutC    bool `json:"without_c"`    // building the driver needs no C compiler
	*Advice

	facts *Facts
}

// Of recommends a driver from the facts of a run. The keys of the map "footprints" are names of drivers.
func Of(a *stats.Analysis, footprints map[string]*result.Footprint) *Recommendation {
	f := FactsOf(a, footprints)
	r := &Recommendation{Advice: Decide(f), Facts: f}
	picked := []*Advice{r.Advice}
	for _, n := range []Need{{WithoutC: true}, {DatabaseSQL: true}, {DatabaseSQL: true, WithoutC: true}} {
		n.facts = f.Only(n.meets)
		if n.Advice, _, _ = n.facts.choose(); n.Verdict == None || covered(f, picked, n.meets) {
			continue
		}
		picked = append(picked, n.Advice)
		r.Needs = append(r.Needs, n)
	}
	return r
}

// covered reports whether at least one advice of a list recommends only candidates that meet a need.
func covered(f *Facts, advices []*Advice, meets func(*Candidate) bool) bool {
	for _, a := range advices {
		met := len(a.Names()) > 0
		for _, name := range a.Names() {
			met = met && meets(f.named(name))
		}
		if met {
			return true
		}
	}
	return false
}

func (n *Need) meets(c *Candidate) bool {
	return (!n.DatabaseSQL || c.Info.Interface == driver.DatabaseSQL) && (!n.WithoutC || c.WithoutC())
}

// Label names the need in a few words.
func (n *Need) Label() string {
	switch {
	case !n.DatabaseSQL:
		return "without cgo"
	case !n.WithoutC:
		return "database/sql"
	}
	return "sql, no cgo"
}

// Names lists the candidates that the advice recommends: one, several if the facts do not decide
// between them, or none.
func (a *Advice) Names() []string {
	if a.Take != "" {
		return []string{a.Take}
	}
	return a.Among
}

// Named lists all recommended candidates: those that [Advice.Names] lists for the recommendation
// itself, and those that it lists for each need.
func (r *Recommendation) Named() []string {
	names := r.Names()
	for i := range r.Needs {
		names = append(slices.Clone(names), r.Needs[i].Names()...)
	}
	return names
}

// Answer says in a sentence or two which driver to take.
func (r *Recommendation) Answer() string {
	f := r.Facts
	switch {
	case r.Verdict == None:
		return "Take none of these drivers: each failed or gave a wrong answer somewhere."
	case r.Verdict == Undecided:
		return "Take " + document.Or(r.Among) + ": " + r.open(r.Facts) + "."
	case len(f.Candidates) == 1:
		return fmt.Sprintf("There is nothing to choose: %s is the only driver.", r.Take)
	case r.Verdict == Conditional:
		return fmt.Sprintf("Take %s only if its known defects cannot affect you: every driver here has defects that can lose or falsify data.", r.Take)
	}
	return "Take " + r.Take + r.why() + "."
}

// why says why the recommended driver is recommended. The result is meant to follow the driver's
// name.
func (r *Recommendation) why() string {
	first := Reason{}
	if len(r.Because) > 0 {
		first = r.Because[0]
	}
	switch {
	case first.Advantage == Faster:
		fastest, next := r.among(first)
		return fmt.Sprintf(", the fastest%s: %s, the next%s, is %s", fastest, first.Over, next, document.Slower(*first.Ratio))
	case first.Advantage == Only:
		return ": " + ReasonWords(first)
	case first.Over != "":
		return fmt.Sprintf(": it is as fast as %s, and %s", first.Over, ReasonWords(first))
	}
	return ""
}

// among returns words that follow "the fastest" and "the next" in the answer. The result "fastest" says among
// which drivers the recommended one is the fastest. It is "" if no rejected driver may be as fast. The result
// "next" says among which drivers first.Over is the next. It is "" if no rejected driver may be faster than
// first.Over.
func (r *Recommendation) among(first Reason) (fastest, next string) {
	fastest = r.without(func(x *Rejection) bool { return x.AsFast })
	next = r.without(func(x *Rejection) bool { return x.AsFast || x.Ratio != nil && x.Ratio.Median < first.Ratio.Median })
	switch {
	case fastest == "" || next == "":
	case next == withoutDefect:
		next = " such driver" // the text "fastest" already says which drivers
	default:
		next = " that can be taken"
	}
	return fastest, next
}

const withoutDefect = " without a known defect that can lose data in these workloads"

// without returns words that exclude rejected drivers, such as " that is right in every cell". It
// considers the rejected drivers for which counts() is true. It returns "" if none of them was
// rejected for a defect or a status.
func (r *Recommendation) without(counts func(*Rejection) bool) string {
	var defect, status bool
	for i := range r.Rejected {
		if x := &r.Rejected[i]; counts(x) {
			defect, status = defect || x.Cause == CauseDefect, status || x.Cause == CauseStatus
		}
	}
	switch {
	case defect && status:
		return " that is right in every cell and has no known defect that can lose data in these workloads"
	case defect:
		return withoutDefect
	case status:
		return " that is right in every cell"
	}
	return ""
}

// open says why the facts do not decide between the candidates, and how many more rounds would
// decide.
func (a *Advice) open(f *Facts) string {
	would := "; " + a.moreRounds() + " would tell"
	if a.Further == 0 {
		would = ""
	}
	switch {
	case a.Hidden == 0 && !a.Untold:
		return fmt.Sprintf("they are equally fast (within %s), and each is better in something", document.Share(Matters))
	case f.TooShort:
		return "no phase in which all of them have figures is long enough to compare them"
	case f.Open(a.Among) != nil:
		return "which of them fails more often is not known yet" + would
	case a.Untold && a.Further == 0:
		return "they have no rounds in common to compare"
	case a.Untold:
		return "their times are not known well enough yet" + would
	}
	return fmt.Sprintf("no clear difference yet, one of them may be up to %s slower%s", document.Percent(a.Hidden), would)
}

// moreRounds says how many more rounds would decide between the candidates.
func (a *Advice) moreRounds() string {
	if a.Further >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " more rounds"
	}
	return "about " + document.Counted(int64(a.Further), "more round")
}

// Alternatives lists the condition under which the recommendation holds, the driver to use for each
// need that the recommended driver does not meet, and the known defects that can make the
// recommended driver slow. If a driver that may be as fast was rejected, the last item says why.
func (r *Recommendation) Alternatives() (l document.List) {
	if r.Verdict == Conditional {
		l = append(l, document.Item{Label: "its defects", Text: needsOf(r.Facts.named(r.Take).Falsifying()), Alarm: true})
	}
	for i := range r.Needs {
		n := &r.Needs[i]
		l = append(l, document.Item{Label: n.Label(), Text: r.need(n), Short: [2]string{r.forNeed(n), r.forNeed(n)}})
	}
	if i := r.Facts.index(r.Take); i >= 0 {
		for _, d := range r.Facts.Candidates[i].Harmful {
			if d.Effect != defects.Slow {
				continue
			}
			do := strings.TrimSuffix(d.Do, ".")
			l = append(l, document.Item{Label: "can be slow", Most: 2, Short: [2]string{d.ID + ": " + do, d.ID},
				Text: fmt.Sprintf("%s: %s. It needs %s. %s", d.ID, d.Title, conditions.DefectNeeds(d.Needs), do)})
		}
	}
	if x := r.leftOut(); x != nil {
		label, text := "as fast", x.Name
		if slower := x.slower(); slower != "" {
			label, text = "faster", fmt.Sprintf("%s (%s is %s)", x.Name, r.Names()[0], slower)
		}
		l = append(l, document.Item{Label: label, Text: text + ", but " + whyNot(*x), Alarm: true})
	}
	return l
}

// slower says how much slower the recommended candidate is than a rejected candidate. If the recommended
// candidate is not certainly slower, it returns "".
func (r *Rejection) slower() string {
	if i := r.Ratio.Interval; i != nil && i.High < 1 {
		return document.SlowerBy(r.Ratio.Inverse())
	}
	return ""
}

// need names the driver to use for a need. If that is the fastest driver that needs no C compiler,
// the next-fastest is also named. If a faster driver was left out, it is named, too.
func (r *Recommendation) need(n *Need) string {
	words := r.forNeed(n)
	if n.WithoutC && len(n.Because) > 0 && n.Because[0].Advantage == Faster {
		words += fmt.Sprintf("; then %s, %s", n.Because[0].Over, document.SlowerThan(*n.Because[0].Ratio, n.Take))
	}
	if x := n.leftOut(); x != nil && (r.leftOut() == nil || x.Name != r.leftOut().Name) {
		if slower := x.slower(); slower != "" {
			words += fmt.Sprintf("; %s is faster (%s is %s), but %s", x.Name, n.Names()[0], slower, whyNot(*x))
		} else {
			words += fmt.Sprintf("; %s is as fast as %s, but %s", x.Name, n.Names()[0], whyNot(*x))
		}
	}
	return words
}

// forNeed names the driver to use for a need, and compares it with the driver that is recommended
// without the need.
func (r *Recommendation) forNeed(n *Need) string {
	best := r.Names()[0] // not empty: n recommends a driver, and r chose from all candidates, including those of n
	first := r.Facts.index(best)
	if n.Verdict == Undecided {
		return document.Or(document.Map(n.Among, func(name string) string {
			if x := r.Facts.index(name); r.Facts.slower(first, x) {
				return fmt.Sprintf("%s (%s)", name, document.SlowerBy(*r.Facts.ratio(first, x)))
			}
			return name
		})) + ": no clear difference between them"
	}
	words := n.Take
	if n.Verdict == Conditional {
		words += fmt.Sprintf(", only if its known defects cannot affect you (%s)", needsOf(n.facts.named(n.Take).Falsifying()))
	}
	switch at := r.Facts.index(n.Take); {
	case r.Facts.ratio(first, at) == nil:
		return words
	case r.Facts.slower(first, at):
		return words + ", " + document.SlowerThan(*r.Facts.ratio(first, at), best)
	}
	return words + ", about as fast as " + best + " so far"
}

// leftOut returns the fastest candidate that is not slower than the recommended candidate but was
// rejected for a status or a defect. It returns nil if there is none.
func (a *Advice) leftOut() (fastest *Rejection) {
	for i := range a.Rejected {
		if r := &a.Rejected[i]; r.AsFast && (fastest == nil || r.Ratio.Median < fastest.Ratio.Median) {
			fastest = r
		}
	}
	return fastest
}

// advantageWords has, for each advantage, the reason to recommend a candidate and the need that
// favors another candidate. Words in braces are replaced by names and figures.
var advantageWords = map[Advantage]struct{ reason, need string }{
	Faster:      {"{over}, the next, is {slower}", ""},
	Only:        {"it is the only one that is right in every cell, fails no more often than others and has no known defect that can lose or falsify data here", ""},
	ShorterTail: {"the 99th percentile of {over} is {tail} higher", "the slowest operations matter most"},
	LessMemory:  {"it needs {own} of memory at its peak, {over} {others}", "memory is scarce ({own} instead of {others})"},
	Smaller:     {"its binary has {own}, that of {over} {others}", "the size of the binary matters ({own} instead of {others})"},
	WithoutC:    {"it needs no C compiler", "you build without a C compiler"},
	DatabaseSQL: {"it is used through database/sql", "you need database/sql"},
	FewerRisks:  {"it has no known defect that matters here, {over} has {defects}", "you avoid every known defect, even one that cannot falsify data"},
}

// ReasonWords describes a reason. The result is meant to follow the candidate's name.
func ReasonWords(r Reason) string {
	size := sizeOf(r.Advantage)
	list := []string{"{over}", r.Over, "{own}", size(r.Own), "{others}", size(r.Others), "{defects}", document.Counted(r.Others, "defect")}
	if r.Ratio != nil {
		list = append(list, "{slower}", document.Slower(*r.Ratio), "{tail}", document.Percent(r.Ratio.Median-1))
	}
	return strings.NewReplacer(list...).Replace(advantageWords[r.Advantage].reason)
}

// sizeOf returns the function that formats the sizes of an advantage: it uses binary units for
// memory, as the tables of a run do, and decimal units for files.
func sizeOf(a Advantage) func(int64) string {
	if a == LessMemory {
		return document.Bytes
	}
	return document.Megabytes
}

// NeedWords says which need would favor another candidate.
func NeedWords(o Overturn) string {
	size := sizeOf(o.Advantage)
	return strings.NewReplacer("{own}", size(o.Own), "{others}", size(o.Others)).Replace(advantageWords[o.Advantage].need)
}

// whyNot says why a candidate is not recommended. The result is meant to follow the candidate's
// name and "but".
func whyNot(r Rejection) string {
	switch r.Cause {
	case CauseStatus:
		words := map[result.Status]string{result.Wrong: "gave a wrong answer", result.Refused: "was refused", result.Failed: "failed", result.Unavailable: "has no worker"}
		return strings.TrimSuffix(cmp.Or(words[r.Status], "was not measured")+": "+r.Message, ": ")
	case CauseDefect:
		return "can lose or falsify data: " + document.FirstOf(document.Map(r.Defects, func(d defects.Defect) string { return d.ID }), 3, ", ")
	case CauseErrors:
		return fmt.Sprintf("more of its operations failed (%s)", document.Thousands(r.Failed))
	case CauseSlower:
		return "is slower"
	}
	return "is not clearly better in anything"
}

// needsOf says what each defect needs to do harm.
func needsOf(list []defects.Defect) string {
	return document.FirstOf(document.Map(list, func(d defects.Defect) string { return d.ID + " needs " + conditions.DefectNeeds(d.Needs) }), 2, ", ")
}
