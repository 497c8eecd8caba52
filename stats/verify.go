package stats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// verifyChecksums makes wrong the cases whose answers are not those of the
// others. The drivers did the same work, so that their checksums must agree:
// those of more than half of the drivers are taken for right, and if there are
// no such, nobody's are.
func (g *Group) verifyChecksums() {
	for _, phase := range g.phases() {
		by := map[string][]*Outcome{}
		var sums []string // in the order of appearance
		total := 0
		for _, o := range g.Outcomes {
			if o.Status != result.OK {
				continue
			}
			var own []string
			for _, s := range o.samples(phase) {
				if s.Checksum != "" && !slices.Contains(own, s.Checksum) {
					own = append(own, s.Checksum)
				}
			}
			switch {
			case len(own) > 1:
				o.wrong(phase, fmt.Sprintf("answers differ from trial to trial: checksums %s and %s", short(own[0]), short(own[1])))
			case len(own) == 1:
				total++
				if by[own[0]] == nil {
					sums = append(sums, own[0])
				}
				by[own[0]] = append(by[own[0]], o)
			}
		}
		if len(sums) < 2 {
			continue
		}
		right := ""
		for _, s := range sums {
			if 2*len(by[s]) > total {
				right = s
			}
		}
		for _, s := range sums {
			for _, o := range by[s] {
				switch {
				case right == "":
					o.wrong(phase, fmt.Sprintf("answers of the drivers differ and none is in the majority: checksum %s of %s, others %s",
						short(s), count(len(by[s]), "driver"), shortOthers(sums, s)))
				case s != right:
					o.wrong(phase, fmt.Sprintf("answer differs from that of %s: checksum %s instead of %s",
						count(len(by[right]), "driver"), short(s), short(right)))
				}
			}
		}
	}
}

func (o *Outcome) wrong(phase, message string) {
	o.Status = result.Wrong
	o.Bad = len(o.Trials)
	o.Reason = &result.Reason{Code: "checksum", Phase: phase, Message: message}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func short(checksum string) string {
	if len(checksum) > 8 {
		return checksum[:8] + "…"
	}
	return checksum
}

func shortOthers(sums []string, own string) string {
	var list []string
	for _, s := range sums {
		if s != own {
			list = append(list, short(s))
		}
	}
	return strings.Join(list, ", ")
}
