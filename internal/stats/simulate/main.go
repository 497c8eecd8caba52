// Simulate shows how often the verdicts of package stats are right and wrong.
// docs/proofs.md shows the output of -each.
//
//	go run ./internal/stats/simulate                    # the details, in some minutes
//	go run ./internal/stats/simulate -tables 300        # quicker, coarser
//	go run ./internal/stats/simulate -each -tables 8000 # two tables: how often each verdict may be wrong, and how often it is
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	tables := flag.Int("tables", 4000, "number of tables for each figure")
	each := flag.Bool("each", false, "the tables that have each verdict, instead of the details")
	flag.Parse()
	if *tables < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "simulate: want -tables N, at least 1, perhaps -each, and no arguments")
		os.Exit(2)
	}
	parts := []func(int) string{powers, levels, partial, settling, wholeRuns, gates, sames}
	if *each {
		parts = []func(int) string{everyVerdict, failureLevels}
	}
	for _, part := range parts {
		fmt.Println(part(*tables))
	}
}

// seed is the seed of every simulation, fixed so that the results can be reproduced.
const seed = 8

// rounds are the numbers of rounds for which results are printed.
var rounds = []int{6, 7, 8, 10, 12, 15, 16, 20, 30, 60}

func powers(tables int) string {
	rows := [][]string{{"drivers", "n", "now", "unpaired"}, {"---:", "---:", "---:", "---:"}}
	for _, k := range []int{2, 10} {
		for _, n := range rounds {
			w := world{shape: "normal", drivers: k, rounds: n, slower: 0.05}
			rows = append(rows, []string{fmt.Sprint(k), fmt.Sprint(n), percent(w.power(paired, tables)), percent(w.power(unpaired, tables))})
		}
	}
	return "A driver that is 5 % slower is told apart from an equal one; spread 3 %, rounds vary by 10 %:\n\n" + markdown(rows)
}

func levels(tables int) string {
	head := []string{"drivers", "n"}
	for _, s := range shapes {
		head = append(head, s.name)
	}
	rows := [][]string{head, slices.Repeat([]string{"---:"}, len(head))}
	for _, k := range []int{2, 10} {
		for _, n := range rounds {
			row := []string{fmt.Sprint(k), fmt.Sprint(n)}
			for _, s := range shapes {
				row = append(row, percent(world{shape: s.name, drivers: k, rounds: n}.anyFalse(paired, tables)))
			}
			rows = append(rows, row)
		}
		// This row is for all other numbers of rounds, with fewer tables for each.
		row := []string{fmt.Sprint(k), "others, 9 to 59"}
		for _, s := range shapes {
			sum, of := 0.0, 0.0
			for n := 6; n <= 60; n++ {
				if !slices.Contains(rounds, n) {
					sum += world{shape: s.name, drivers: k, rounds: n}.anyFalse(paired, tables/10+1)
					of++
				}
			}
			row = append(row, percent(sum/of))
		}
		rows = append(rows, row)
	}
	return "Any two of equal drivers are told apart, in a table:\n\n" + markdown(rows)
}

// partial returns a table. It shows how often any two equal drivers differ significantly if
// other drivers really differ. Each simulation has three groups of equal drivers.
func partial(tables int) string {
	rows := [][]string{{"n", "normal", "drifting"}, {"---:", "---:", "---:"}}
	for _, n := range rounds {
		row := []string{fmt.Sprint(n)}
		for _, s := range []string{"normal", drifting} {
			row = append(row, percent(world{shape: s, drivers: 10, rounds: n, groups: 3, slower: 0.5}.anyFalse(paired, tables)))
		}
		rows = append(rows, row)
	}
	return "Any two of equal drivers are told apart, of ten in three groups, the groups 50 % apart:\n\n" + markdown(rows)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func markdown(rows [][]string) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
	}
	return b.String()
}
