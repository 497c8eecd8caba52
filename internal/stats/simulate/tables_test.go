// Package simulate shows how often the verdicts of package stats are right and wrong. It has only
// tests.
//
//	go test ./internal/stats/simulate -run TestDetails -tables 4000 -v # tables with details, in some minutes
//	go test ./internal/stats/simulate -run TestProofs -tables 8000     # writes docs/proofs.md
package simulate

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var tables = flag.Int("tables", 0, "number of `tables` that TestDetails and TestProofs simulate for each figure (default: both are skipped)")

// wanted returns the flag -tables. It skips the test if the flag is not given.
func wanted(t *testing.T) int {
	t.Helper()
	switch {
	case *tables == 0:
		t.Skip("takes minutes: -tables 4000")
	case *tables < 0:
		t.Fatalf("-tables %d: want at least 1", *tables)
	}
	return *tables
}

// TestDetails prints tables that docs/proofs.md does not have.
func TestDetails(t *testing.T) {
	n := wanted(t)
	for _, part := range []func(int) string{powers, levels, partial, settling, wholeRuns, gates, sames} {
		fmt.Println(part(n))
	}
}

// TestProofs writes two tables to docs/proofs.md. They show how often verdicts may be wrong, and how
// often they are wrong in simulations.
func TestProofs(t *testing.T) {
	proofs(t)
	n := wanted(t)
	text := everyVerdict(n) + "\n" + failureLevels(n)
	before, after := proofs(t) // read again, because the document may have been edited in the meantime
	if err := os.WriteFile(file, []byte(before+text+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

const file = "../../../docs/proofs.md"

// proofs returns the text of docs/proofs.md before and after its tables.
func proofs(t *testing.T) (before, after string) {
	t.Helper()
	const begin, end = "<!-- simulations -->\n", "<!-- end -->"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed || !strings.Contains(old, "\n| "+verdicts[0].says+" |") || !strings.Contains(old, "\n| "+failureVerdicts[0].name+" |") {
		t.Fatalf("%s has no tables of the verdicts between %q and %q", file, begin, end)
	}
	return before + begin, end + after
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
		// This row is for all other numbers of rounds. Fewer tables are simulated for each of them.
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
