package stats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// verifyChecksums compares the checksums of the values that the cases read. All drivers did the same work, so
// their checksums must agree. A checksum that more than half of the drivers have is assumed to be right, and
// cases with another checksum get the status [result.Wrong]. If there is no such checksum, all cases get this
// status, because nobody can know which driver is at fault.
func (g *Group) verifyChecksums() {
	for _, phase := range g.phases() {
		by := map[string][]*Outcome{}
		var sums []string // the distinct checksums, in the order of their first appearance
		for _, o := range slices.Concat(g.Outcomes, g.shared) {
			if o.Status != result.OK && o.Status != NotMeasured { // a case that is NotMeasured may have a checksum, from a trial that does not count
				continue
			}
			own, bad := o.checksums(phase)
			switch {
			case bad != "":
				o.wrong(phase, fmt.Sprintf("checksum %.70q is not 64 lower-case hexadecimal digits", bad))
			case len(own) > 1:
				o.wrong(phase, fmt.Sprintf("answers differ from trial to trial: checksums %s and %s", short(own[0], own), short(own[1], own)))
			case len(own) == 1:
				if by[own[0]] == nil {
					sums = append(sums, own[0])
				}
				by[own[0]] = append(by[own[0]], o)
			}
		}
		if len(sums) > 1 {
			blame(phase, sums, by)
		}
	}
}

// checksums returns the distinct checksums of a phase. This includes the checksums of trials that do not
// count because their cases were measured again. If a checksum is malformed, checksums returns only that
// checksum, as the result "bad".
func (o *Outcome) checksums(phase string) (own []string, bad string) {
	for _, s := range o.measured(phase, true) {
		switch {
		case s.Checksum == "":
		case len(s.Checksum) != 64 || strings.Trim(s.Checksum, "0123456789abcdef") != "":
			return nil, s.Checksum
		case !slices.Contains(own, s.Checksum):
			own = append(own, s.Checksum)
		}
	}
	return own, ""
}

// blame sets the status [result.Wrong] for the outcomes that do not have the checksum of the
// majority. If there is no majority, it sets this status for all outcomes.
func blame(phase string, sums []string, by map[string][]*Outcome) {
	right, total := "", 0
	for _, s := range sums {
		total += len(by[s])
	}
	for _, s := range sums {
		if 2*len(by[s]) > total {
			right = s
		}
	}
	for _, s := range sums {
		for _, o := range by[s] {
			switch {
			case right == "":
				o.wrong(phase, undecided(s, sums, by))
			case s != right:
				o.wrong(phase, fmt.Sprintf("answer differs from that of %s: checksum %s instead of %s",
					count(len(by[right]), "driver"), short(s, sums), short(right, sums)))
			}
		}
	}
}

// undecided returns the message for drivers with the checksum in the parameter "own", if no
// checksum has a majority. The message says how to find out which driver is right.
func undecided(own string, sums []string, by map[string][]*Outcome) string {
	var others []*Outcome
	var present, theirs []string
	for _, s := range sums {
		for _, other := range by[s] {
			present = append(present, other.Case.Driver)
		}
		if s != own {
			others = append(others, by[s]...)
			theirs = append(theirs, fmt.Sprintf("%s of %s", short(s, sums), drivers(by[s])))
		}
	}
	why := "no answer has a majority"
	if len(present) == 2 {
		why = "two drivers cannot show which of them is wrong"
	}
	return fmt.Sprintf("answer differs from that of %s, and %s: add %s to the run; checksum %s, %s",
		drivers(others), why, another(present), short(own, sums), strings.Join(theirs, ", "))
}

func drivers(list []*Outcome) string {
	if len(list) > 3 {
		return count(len(list), "driver")
	}
	var names []string
	for _, o := range list {
		names = append(names, o.Case.Driver)
	}
	return strings.Join(names, " and ")
}

// another returns the name of a driver that, if added to the run, can show which driver is right. Three
// drivers have no code in common. another returns the first of them that is missing in the parameter
// "present". If none is missing, it returns "another driver".
func another(present []string) string {
	for _, name := range []string{"native", "modernc", "ncruces"} {
		if !slices.ContainsFunc(present, func(p string) bool { return result.BaseDriver(p) == name }) {
			return name
		}
	}
	return "another driver"
}

func (o *Outcome) wrong(phase, message string) {
	o.Status = result.Wrong
	o.Bad = len(o.Trials)
	o.Reason = &protocol.Reason{Code: protocol.CodeChecksum, Phase: phase, Message: message}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short returns the shortest prefix of a checksum, at least 8 digits, that differs from the
// beginning of all other checksums.
func short(checksum string, among []string) string {
	for n := 8; n < len(checksum); n++ {
		if !slices.ContainsFunc(among, func(s string) bool { return s != checksum && strings.HasPrefix(s, checksum[:n]) }) {
			return checksum[:n] + "…"
		}
	}
	return checksum
}
