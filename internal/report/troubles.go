package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// groups are values by key, with the keys in the order of their first values.
type groups[K comparable, V any] struct {
	keys []K
	of   map[K][]V
}

func (g *groups[K, V]) add(k K, v V) {
	if g.of == nil {
		g.of = map[K][]V{}
	}
	if g.of[k] == nil {
		g.keys = append(g.keys, k)
	}
	g.of[k] = append(g.of[k], v)
}

// troubles lists the cases of a group that have no figures, with the reasons, and the
// warnings. It leaves out the codes in told, which are reported elsewhere.
func troubles(g *stats.Group, told ...string) document {
	type trouble struct{ status, why string }
	var whose groups[trouble, string]
	for _, o := range g.Outcomes {
		if o.Status == result.OK || slices.Contains(told, o.Reason.Code) {
			continue
		}
		whose.add(trouble{string(o.Status), reason(o) + whoHas(g, o)}, name(o))
	}
	var l list
	for _, t := range whose.keys {
		l = append(l, item{label: t.status, text: strings.Join(whose.of[t], ", ") + ": " + t.why, alarm: true})
	}
	for _, t := range g.Tables {
		for _, c := range t.Cells {
			if c.Status == stats.NotMeasured && c.Outcome.Status == result.OK {
				l = append(l, item{label: string(c.Status), text: fmt.Sprintf("%s: no trial has a sample of %s", name(c.Outcome), t.Phase), alarm: true})
			}
		}
	}
	names := map[int]string{}
	var w []result.Warning
	for _, o := range g.Outcomes {
		names[o.Case.ID] = name(o)
		for _, x := range o.Warnings {
			switch {
			case x.Code == result.WarningUnverified, x.Code == result.WarningIdle:
				x.Case = 0 // it concerns the workload with any driver
				if !slices.Contains(w, x) && (!slices.Contains(told, x.Code) || !hasFigures(g, x.Phase)) {
					w = append(w, x)
				}
			case !slices.Contains(told, x.Code):
				w = append(w, x)
			}
		}
	}
	l = append(l, warnings(w, names)...)
	if l == nil {
		return nil
	}
	return document{space{}, l}
}

// hasFigures reports whether a phase of the group has a table with figures.
func hasFigures(g *stats.Group, phase string) bool {
	return slices.ContainsFunc(g.Tables, func(t *stats.Table) bool { return t.Phase == phase && len(t.Measured()) > 0 })
}

// whoHas says which drivers of the group have the feature whose lack made a case fail.
func whoHas(g *stats.Group, o *stats.Outcome) string {
	if o.Reason.Feature == "" {
		return ""
	}
	var have []string
	for _, other := range g.Outcomes {
		if other.Status == result.OK {
			have = append(have, name(other))
		}
	}
	if have == nil {
		return "; no driver of this run has it"
	}
	return "; here it works with " + strings.Join(have, ", ")
}

// reason returns one line that says why a case has no figures.
func reason(o *stats.Outcome) string {
	var s string
	if o.Bad < len(o.Trials) {
		s = fmt.Sprintf("%d of %s: ", o.Bad, counted(int64(len(o.Trials)), "trial"))
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

// How much of what a program said is put at the end of a line.
const (
	saidLines = 3
	saidRunes = 300
)

// crashed is how Go says that a signal has ended a program.
var crashed = regexp.MustCompile(`^SIG[A-Z]+: `)

// Said returns what tells most of a program's standard error, to be put after the message
// of the reason: the beginning of a panic; a signal with the function that it met, if that is
// none of Go's runtime; otherwise the last lines. It is printable, and "" if the message has
// it all.
func Said(r *protocol.Reason) string {
	var lines []string
	signal := ""
	for line := range strings.Lines(r.Detail) {
		frame := !strings.HasPrefix(line, "\t")
		line = Line(line)
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

// warnings lists warnings. Those of one kind about the same thing share a line.
func warnings(all []result.Warning, names map[int]string) list {
	type key struct {
		code, phase string
		id          int
	}
	var alike groups[key, result.Warning]
	for _, w := range all {
		alike.add(key{w.Code, w.Phase, w.Case}, w)
	}
	var l list
	for i, k := range alike.keys {
		if i == mostKinds {
			l = append(l, item{label: "warning", text: moreKinds(len(alike.keys) - i), alarm: true})
			break
		}
		about := strings.Join(slices.DeleteFunc([]string{names[k.id], k.phase}, func(s string) bool { return s == "" }), ", ")
		if about != "" {
			about += ": "
		}
		l = append(l, item{label: "warning", text: about + likened(alike.of[k]), alarm: true})
	}
	return l
}

// mostKinds is how many kinds of warnings are listed. A store may be somebody else's, and
// have hundreds of thousands.
const mostKinds = 200

func moreKinds(n int) string {
	return fmt.Sprintf("%s more of warnings, which the format json has", counted(int64(n), "kind"))
}

// likened returns the message of the first of the warnings of one kind, and the rounds
// of the others.
func likened(ws []result.Warning) string {
	var others []int
	for _, w := range ws {
		if w.Round != ws[0].Round && w.Round > 0 {
			others = append(others, w.Round)
		}
	}
	s := ws[0].Message
	if ws[0].Round > 0 && ws[0].Code != result.WarningCalibration { // its message names the round
		s += fmt.Sprintf(" (round %d)", ws[0].Round)
	}
	slices.Sort(others)
	if r := slices.Compact(others); len(r) > 0 {
		s += fmt.Sprintf("; the like in %s (%s)", counted(int64(len(r)), "other round"), joinInts(r))
	}
	return s
}

// runWarnings lists the warnings of the run as a whole.
func runWarnings(a *stats.Analysis) list { return machineWarnings(a.Warnings, a.Run.Rounds) }

// machineWarnings lists warnings that are of no case. One line says how the speed of the
// machine changed between the rounds, and what that means.
func machineWarnings(all []result.Warning, rounds int) list {
	var off []float64
	rest := slices.DeleteFunc(slices.Clone(all), func(w result.Warning) bool {
		speed := w.Code == result.WarningCalibration && w.Deviation != 0
		if speed {
			off, rounds = append(off, w.Deviation), max(rounds, w.Round)
		}
		return speed
	})
	l := warnings(rest, nil)
	if off != nil {
		by := fmt.Sprintf("%+.0f%%", 100*slices.Min(off))
		if most := fmt.Sprintf("%+.0f%%", 100*slices.Max(off)); most != by {
			by += " to " + most
		}
		l = append(l, item{label: "warning", text: fmt.Sprintf("the machine's speed changed: in %d of %s a fixed computing loop took over %s more or less than its median (%s). "+
			"Times vary with it, ratios within rounds less", len(off), counted(int64(rounds), "round"), percent(result.OffSpeed), by), alarm: true})
	}
	return l
}

// robbedTrials counts the trials of runs.
type robbedTrials struct {
	trials int
	again  int // of trials, robbed of time and measured again
	not    int // of trials, robbed of time: the run ended before they were measured again
}

// countRepeated counts the trials of runs, and those that do not count because they were
// robbed of time.
func countRepeated(runs ...*result.Run) (n robbedTrials) {
	type place struct{ of, round int }
	for _, run := range runs {
		n.trials += len(run.Trials)
		later := map[place]bool{}
		for _, t := range slices.Backward(run.Trials) {
			at := place{t.Case, t.Round}
			switch {
			case !t.Repeated || !t.Robbed:
			case later[at]:
				n.again++
			default:
				n.not++
			}
			later[at] = true
		}
	}
	return n
}

// String says how many trials do not count. It returns "" if all do.
func (n robbedTrials) String() string {
	var words []string
	add := func(some int, what string) {
		if some == 0 {
			return
		}
		does := "does not count and was " + what + ": other processes or other machines took more than %s of its time"
		if some > 1 {
			does = "do not count and were " + what + ": other processes or other machines took more than %s of their time"
		}
		words = append(words, fmt.Sprintf("%s of %s "+does, Thousands(int64(some)), counted(int64(n.trials), "trial"), share(result.RobbedShare)))
	}
	add(n.again, "measured again")
	add(n.not, "not measured again")
	return strings.Join(words, "; ")
}

// totals adds up the counts of a cell's samples by name.
func totals(c *stats.Cell, of func(stats.Sample) []protocol.ErrorCount) []protocol.ErrorCount {
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
			list[i].Message = cmp.Or(list[i].Message, Line(e.Message))
		}
	}
	return list
}

// errorCounts says with which errors a cell's operations failed, and how many
// operations succeeded. It returns "" if there were none.
func errorCounts(c *stats.Cell) string {
	var retries int64
	for _, s := range c.Samples {
		retries += s.Retries
	}
	var words []string
	for _, e := range totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Errors }) {
		if e.Message != "" {
			words = append(words, withMessage(e))
			continue
		}
		words = append(words, fmt.Sprintf("%s %s, %s spent waiting", Thousands(e.Count), e.Name, duration(e.WaitNS)))
	}
	if retries > 0 {
		words = append(words, counted(retries, "repeated attempt"))
	}
	if words == nil {
		return ""
	}
	failed, operations := c.Failures()
	return fmt.Sprintf("%s: %s; %s of %s operations succeeded, all trials together", name(c.Outcome), strings.Join(words, "; "),
		Thousands(operations-failed), Thousands(operations))
}

// withMessage says how often an error occurred, and what the library said the first time.
func withMessage(e protocol.ErrorCount) string {
	message := []rune(e.Message)
	if len(message) > saidRunes {
		message = append(message[:saidRunes:saidRunes], '…')
	}
	return fmt.Sprintf("%s %s: %s", Thousands(e.Count), e.Name, string(message))
}

// busyAtOnce explains SQLITE_BUSY that came long before the busy timeout, with a
// transaction that may begin by reading. It returns "" if there was none.
func busyAtOnce(cells []*stats.Cell) string {
	var words []string
	for _, c := range cells {
		p := c.Proof()
		if p == nil {
			continue
		}
		set := readBack(p)
		timeout, _ := strconv.ParseInt(set["busy_timeout"], 10, 64) // 0 if it is not known
		atOnce := func(e protocol.ErrorCount) bool {
			return e.Code&0xff == driver.CodeBusy && e.WaitNS/max(e.Count, 1) < timeout*1e6/10
		}
		if slices.ContainsFunc(c.Samples, func(s stats.Sample) bool {
			return s.Load == nil && slices.ContainsFunc(s.Errors, atOnce) // a request is one statement
		}) && cmp.Or(set["txlock"], c.Case.Settings["txlock"], "deferred") == "deferred" {
			words = append(words, name(c.Outcome))
		}
	}
	if words == nil {
		return ""
	}
	return "some operations of " + strings.Join(words, ", ") + " failed with SQLITE_BUSY long before the busy timeout: " +
		"a transaction that reads first and then writes fails at once, whatever the timeout, if another one has written in between; with txlock=immediate it waits before it reads"
}

// resultCounts says with which errors a cell's operations ended if they declare these as
// their results, or if they ended so when they were recorded. It returns "" if there were none.
func resultCounts(c *stats.Cell) string {
	var words []string
	for _, e := range totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Results }) {
		words = append(words, Thousands(e.Count)+" "+e.Name)
	}
	if words == nil {
		return ""
	}
	why := "which the workload declares as results"
	if c.Samples[0].Replayed {
		why = "as when recorded"
	}
	return name(c.Outcome) + ": " + strings.Join(words, ", ") + ", " + why + ", all trials together"
}

// hostLost reports whether the connection to the machine of a run was lost.
func hostLost(a *stats.Analysis) bool {
	return slices.ContainsFunc(a.Run.Trials, func(t result.Trial) bool { return !t.Repeated && t.Reason != nil && t.Reason.Code == result.CodeHost })
}
