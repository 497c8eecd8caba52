package conditions

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Groups has lists of values by key. The field Keys has the keys in the order in which they were
// first added.
type Groups[K comparable, V any] struct {
	Keys []K
	Of   map[K][]V
}

func (g *Groups[K, V]) Add(k K, v V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if g.Of[k] == nil {
		g.Keys = append(g.Keys, k)
	}
	g.Of[k] = append(g.Of[k], v)
}

// AddOnce adds a value to the list of a key, unless the list already contains it.
func AddOnce[K, V comparable](g *Groups[K, V], k K, v V) {
	if !slices.Contains(g.Of[k], v) {
		g.Add(k, v)
	}
}

// Troubles lists the cases of a group that have no figures, with the reasons, and then the group's
// warnings. It leaves out cases and warnings whose codes are in the parameter "told", because they
// are reported elsewhere.
func Troubles(g *stats.Group, told ...string) document.Document {
	l := append(without(g, told), GroupWarnings(g, told...)...)
	if l == nil {
		return nil
	}
	return document.Document{document.Space{}, l}
}

// The function "without" lists the cases of a group that have no figures, with the reasons. It leaves
// out cases whose codes are in the parameter "told". It also lists phases without a sample: the case
// has the status OK, but no trial has a sample of the phase.
func without(g *stats.Group, told []string) document.List {
	type trouble struct{ status, why string }
	var whose Groups[trouble, string]
	for _, o := range g.Outcomes {
		if o.Status == result.OK || slices.Contains(told, o.Reason.Code) {
			continue
		}
		whose.Add(trouble{string(o.Status), Reason(o) + whoHas(g, o)}, Name(o))
	}
	var l document.List
	for _, t := range whose.Keys {
		l = append(l, KindOf(t.status).Item(strings.Join(whose.Of[t], ", ")+": "+t.why))
	}
	for _, t := range g.Tables {
		for _, c := range t.Cells {
			if c.Status == stats.NotMeasured && c.Outcome.Status == result.OK {
				l = append(l, KindOf(string(c.Status)).Item(fmt.Sprintf("%s: no trial has a sample of %s", Name(c.Outcome), t.Phase)))
			}
		}
	}
	return l
}

// GroupWarnings lists the warnings of a group. It leaves out warnings whose codes are in the
// parameter "told", with one exception: a warning with the code WarningUnverified or WarningIdle
// is always listed if the group has no figures for the warning's phase.
func GroupWarnings(g *stats.Group, told ...string) document.List {
	names := map[int]string{}
	var w []result.Warning
	for _, o := range g.Outcomes {
		names[o.Case.ID] = Name(o)
		for _, x := range o.Warnings {
			switch {
			case x.Code == result.WarningUnverified, x.Code == result.WarningIdle:
				x.Case = 0 // the warning is about the workload, whatever the driver
				if !slices.Contains(w, x) && (!slices.Contains(told, x.Code) || !hasFigures(g, x.Phase)) {
					w = append(w, x)
				}
			case !slices.Contains(told, x.Code):
				w = append(w, x)
			}
		}
	}
	return Warnings(w, names)
}

func hasFigures(g *stats.Group, phase string) bool {
	return slices.ContainsFunc(g.Tables, func(t *stats.Table) bool { return t.Phase == phase && len(t.Measured()) > 0 })
}

// If the case of the outcome o failed because its driver lacks a feature, whoHas says which drivers of the
// group have the feature. Otherwise it returns "".
func whoHas(g *stats.Group, o *stats.Outcome) string {
	if o.Reason.Feature == "" {
		return ""
	}
	var have []string
	for _, other := range g.Outcomes {
		if other.Status == result.OK {
			have = append(have, Name(other))
		}
	}
	if have == nil {
		return "; no driver of this run has it"
	}
	return "; here it works with " + strings.Join(have, ", ")
}

// Reason returns one line that says why a case has no figures.
func Reason(o *stats.Outcome) string {
	var s string
	if o.Bad < len(o.Trials) {
		s = fmt.Sprintf("%d of %s: ", o.Bad, document.Counted(int64(len(o.Trials)), "trial"))
	}
	if o.Reason.Phase != "" {
		s += o.Reason.Phase + ": "
	}
	s += o.Reason.Message
	if o.Status != result.Refused && o.Reason.Code != "" {
		s += " [" + o.Reason.Code + "]"
	}
	return s + Said(o.Reason)
}

// These are the greatest numbers of lines and characters of a program's output that is quoted at
// the end of a line.
const (
	saidLines = 3
	saidRunes = 300
)

// crashed matches the line that a Go program prints when a signal ends it.
var crashed = regexp.MustCompile(`^SIG[A-Z]+: `)

// Said returns the most useful part of a program's standard error, as printable text. If the program
// panicked, that is the line with the panic's message. If a signal ended a Go program, it is the signal and
// the first function that is not part of Go's runtime. Otherwise it is the last lines. Said returns "" if
// the reason's message already contains that part.
func Said(r *protocol.Reason) string {
	var lines []string
	signal := ""
	for line := range strings.Lines(r.Detail) {
		frame := !strings.HasPrefix(line, "\t")
		line = document.Line(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			lines = []string{line}
			break
		}
		if signal == "" && crashed.MatchString(line) {
			signal = line
			continue
		}
		if function, _, ok := strings.Cut(line, "("); ok && signal != "" && frame && strings.Contains(function, ".") && !strings.HasPrefix(line, "runtime.") {
			lines = []string{signal, "in " + line}
			break
		}
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	lines = slices.DeleteFunc(lines[max(len(lines)-saidLines, 0):], func(l string) bool { return strings.Contains(r.Message, l) })
	if len(lines) == 0 {
		return ""
	}
	said := []rune(strings.Join(lines, " | "))
	if over := len(said) - saidRunes; over > 0 {
		said = append([]rune("…"), said[over:]...)
	}
	return " | " + string(said)
}

// Warnings lists warnings. Warnings with the same code about the same case and phase share a line.
func Warnings(all []result.Warning, names map[int]string) document.List {
	type key struct {
		code, phase string
		id          int
	}
	var alike Groups[key, result.Warning]
	for _, w := range all {
		alike.Add(key{w.Code, w.Phase, w.Case}, w)
	}
	var l document.List
	for i, k := range alike.Keys {
		if i == MostKinds {
			l = append(l, KindOf(k.code).Item(MoreKinds(len(alike.Keys)-i)))
			break
		}
		about := document.JoinKnown(", ", names[k.id], k.phase)
		if about != "" {
			about += ": "
		}
		l = append(l, KindOf(k.code).Item(about+likened(alike.Of[k])))
	}
	return l
}

// MostKinds limits the kinds of warnings that are listed. A store that somebody else made may have
// hundreds of thousands of kinds.
const MostKinds = 200

func MoreKinds(n int) string {
	return fmt.Sprintf("%s more of warnings, which the format json has", document.Counted(int64(n), "kind"))
}

// likened returns one text for warnings of one kind: the message of the first warning, and the
// rounds of the other warnings.
func likened(ws []result.Warning) string {
	var others []int
	for _, w := range ws {
		if w.Round != ws[0].Round && w.Round > 0 {
			others = append(others, w.Round)
		}
	}
	s := ws[0].Message
	if ws[0].Round > 0 && ws[0].Code != result.WarningCalibration { // a calibration warning names its round itself
		s += fmt.Sprintf(" (round %d)", ws[0].Round)
	}
	slices.Sort(others)
	if r := slices.Compact(others); len(r) > 0 {
		s += fmt.Sprintf("; similar in %s (%s)", document.Counted(int64(len(r)), "other round"), document.JoinInts(r))
	}
	return s
}

type robbedTrials struct {
	Trials int
	Again  int // trials that were disturbed by other processes and measured again
	not    int // disturbed trials that were not measured again, because the run ended
}

// CountRepeated returns the number of trials of the given runs, and how many of them don't count
// because other processes disturbed them.
func CountRepeated(runs ...*result.Run) (n robbedTrials) {
	type place struct{ of, round int }
	for _, run := range runs {
		n.Trials += len(run.Trials)
		later := map[place]bool{}
		for _, t := range slices.Backward(run.Trials) {
			at := place{t.Case, t.Round}
			switch {
			case !t.Repeated || !t.Robbed:
			case later[at]:
				n.Again++
			default:
				n.not++
			}
			later[at] = true
		}
	}
	return n
}

// String says how many trials do not count. It returns "" if all trials count.
func (n robbedTrials) String() string {
	var words []string
	add := func(some int, what string) {
		if some == 0 {
			return
		}
		does := "doesn't count and was " + what + ": other processes or other machines took more than %s of its time"
		if some > 1 {
			does = "don't count and were " + what + ": other processes or other machines took more than %s of their time"
		}
		words = append(words, fmt.Sprintf("%s of %s "+does, document.Thousands(int64(some)), document.Counted(int64(n.Trials), "trial"), document.Share(result.RobbedShare)))
	}
	add(n.Again, "measured again")
	add(n.not, "not measured again")
	return strings.Join(words, "; ")
}

// Totals adds up the counts of errors in a cell. It returns one sum for each name of an error, over
// all samples. The function "of" returns the counts of one sample.
func Totals(c *stats.Cell, of func(stats.Sample) []protocol.ErrorCount) []protocol.ErrorCount {
	var list []protocol.ErrorCount
	for _, s := range c.Samples {
		for _, e := range of(s) {
			n := cmp.Or(e.Name, fmt.Sprintf("code %d", e.Code))
			i := slices.IndexFunc(list, func(t protocol.ErrorCount) bool { return t.Name == n })
			if i < 0 {
				i = len(list)
				list = append(list, protocol.ErrorCount{Name: n})
			}
			list[i].Count += e.Count
			list[i].WaitNS += e.WaitNS
			list[i].Message = cmp.Or(list[i].Message, document.Line(e.Message))
		}
	}
	return list
}

// ErrorCounts lists the errors of a cell's operations and the repeated attempts, and says how many
// operations succeeded. It returns "" if there were no errors and no repeated attempts.
func ErrorCounts(c *stats.Cell) string {
	var retries int64
	for _, s := range c.Samples {
		retries += s.Retries
	}
	var words []string
	for _, e := range Totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Errors }) {
		if e.Message != "" {
			words = append(words, WithMessage(e))
			continue
		}
		words = append(words, fmt.Sprintf("%s %s, %s spent waiting", document.Thousands(e.Count), e.Name, document.Nanoseconds(e.WaitNS)))
	}
	if retries > 0 {
		words = append(words, document.Counted(retries, "repeated attempt"))
	}
	if words == nil {
		return ""
	}
	failed, operations := c.Failures()
	return fmt.Sprintf("%s: %s; %s of %s operations succeeded, all trials together", Name(c.Outcome), strings.Join(words, "; "),
		document.Thousands(operations-failed), document.Thousands(operations))
}

// WithMessage says how often an error occurred, followed by the first message of the library.
func WithMessage(e protocol.ErrorCount) string {
	return fmt.Sprintf("%s %s: %s", document.Thousands(e.Count), e.Name, document.Cut(e.Message, saidRunes))
}

// BusyAtOnce explains why operations failed with SQLITE_BUSY long before the busy timeout: their
// transactions begin by reading. It returns "" if no operation of a deferred transaction failed
// like that.
func BusyAtOnce(cells []*stats.Cell) string {
	var words []string
	for _, c := range cells {
		p := c.Proof()
		if p == nil {
			continue
		}
		set := readBack(p)
		timeout, _ := strconv.ParseInt(set["busy_timeout"], 10, 64) // 0 if the timeout is not known
		atOnce := func(e protocol.ErrorCount) bool {
			return e.Code&0xff == driver.CodeBusy && e.WaitNS/max(e.Count, 1) < timeout*1e6/10
		}
		if slices.ContainsFunc(c.Samples, func(s stats.Sample) bool {
			return s.Load == nil && slices.ContainsFunc(s.Errors, atOnce) // http phases are left out, because each of their requests is one statement
		}) && cmp.Or(set["txlock"], c.Case.Settings["txlock"], "deferred") == "deferred" {
			words = append(words, Name(c.Outcome))
		}
	}
	if words == nil {
		return ""
	}
	return "some operations of " + strings.Join(words, ", ") + " failed with SQLITE_BUSY long before the busy timeout: " +
		"a transaction that reads first and then writes fails at once, whatever the timeout, if another one has written in between; with txlock=immediate it waits before it reads"
}

// ResultCounts lists the errors that count as results: a workload declares them, or a recorded
// operation ended with them. It returns "" if no operation had such an error.
func ResultCounts(c *stats.Cell) string {
	words := document.Map(Totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Results }), func(e protocol.ErrorCount) string { return document.Thousands(e.Count) + " " + e.Name })
	if words == nil {
		return ""
	}
	why := "which the workload declares as results"
	if c.Samples[0].Replayed {
		why = "as when recorded"
	}
	return Name(c.Outcome) + ": " + strings.Join(words, ", ") + ", " + why + ", all trials together"
}

// HostLost reports whether a run on another machine lost the connection to that machine.
func HostLost(a *stats.Analysis) bool {
	return slices.ContainsFunc(a.Run.Trials, func(t result.Trial) bool { return !t.Repeated && t.Reason != nil && t.Reason.Code == result.CodeHost })
}
