package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// AddedCost returns a table of the time that sqlite3perf itself adds to the work of each driver. Drivers
// for which this time was not measured are not in the table. Below the table are the causes for each
// phase in which the added time is too long, as [lab.AddsTooMuch] decides.
func AddedCost(known []build.Known) document.Document {
	var measured, not []string
	var rows [][]string
	var explained conditions.Groups[string, string] // names of drivers and phases, by the cause that explains their added cost
	for _, k := range known {
		c := k.AddedCost
		if c == nil {
			if len(k.Command) == 0 {
				not = append(not, k.Name)
			}
			continue
		}
		measured = distinct.Append(measured, fmt.Sprintf("measured %s, %s, %s", c.Measured, c.Machine, c.Runtime))
		for _, p := range c.Phases {
			mark := ""
			if lab.AddsTooMuch(p) {
				mark = " *"
				explained.Add(c.Causes[p.Phase], k.Name+" "+p.Phase)
			}
			rows = append(rows, []string{k.Name, p.Phase, fmt.Sprintf("%.0f ns", p.Hand), ratio(p.WallRatio), ratio(p.CPURatio), nanoseconds(p.WallAdded) + mark, nanoseconds(p.CPUAdded)})
		}
	}
	lines := document.Map(explained.Keys, func(cause string) string {
		return fmt.Sprintf("* %s: %s", strings.Join(explained.Of[cause], ", "), cause)
	})
	lines = append(lines, measured...)
	if not != nil {
		lines = append(lines, "not measured: "+strings.Join(not, ", "))
	}
	d := document.Document{document.TableOf("DRIVER|PHASE|>BY HAND|TIME, RATIO|CPU, RATIO|TIME ADDED|CPU ADDED", rows)}
	for _, line := range lines {
		d = append(d, document.Paragraph{Text: line})
	}
	return d
}

func ratio(e estimate.Estimate) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", e.Median, e.Low, e.High)
}

func nanoseconds(e estimate.Estimate) string {
	return fmt.Sprintf("%.0f ns (%.0f to %.0f)", e.Median, e.Low, e.High)
}

// addedCostLines describes the time that sqlite3perf adds to a driver, as lines for the list of
// drivers. It returns nil if the time was not measured.
func addedCostLines(c *driver.AddedCost) []string {
	if c == nil {
		return nil
	}
	var words []string
	for _, p := range c.Phases {
		share := fmt.Sprintf("%+.1f%%", 100*(p.WallRatio.Median-1))
		if p.WallAdded.Low <= 0 && p.WallAdded.High >= 0 {
			share = "no clear difference from 0"
		}
		words = append(words, fmt.Sprintf("%s %s (%s)", p.Phase, nanoseconds(p.WallAdded), share))
	}
	lines := []string{"sqlite3perf adds, per row or operation: " + strings.Join(words, ", ")}
	for _, phase := range slices.Sorted(maps.Keys(c.Causes)) {
		if i := slices.IndexFunc(c.Phases, func(p driver.AddedPhase) bool { return p.Phase == phase }); i >= 0 && lab.AddsTooMuch(c.Phases[i]) {
			lines = append(lines, "  "+phase+": "+c.Causes[phase])
		}
	}
	return lines
}
