package database

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func PaginateCommand(env *cli.Environment) *cobra.Command {
	o := &databaseOptions{}
	p := &protocol.Paginate{}
	cmd := &cobra.Command{
		Use:   "paginate",
		Short: "Compare OFFSET with keyset pagination at several depths",
		Long: `Paginate reads a page of the table in the order of ID at several depths, in two ways:
  OFFSET  SELECT ID, rand, hash FROM bench ORDER BY ID LIMIT 5 OFFSET 2850001
  keyset  SELECT ID, rand, hash FROM bench WHERE ID > 2850000 ORDER BY ID LIMIT 5
Both must give the same rows. Each page is first read once, and then in both ways in
every repetition, in shuffled order, on one connection. The result is the median, with
its 95% interval.`,
		Example: `  sqlite3perf paginate --db a.db
  sqlite3perf paginate --db a.db --depths 0,1000,100000 --limit 20 --repetitions 30`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return paginate(cmd.Context(), env, o, p) },
	}
	f := cmd.Flags()
	f.Int64SliceVar(&p.Depths, "depths", nil, "numbers of `rows` before the page (default: they depend on the size of the table)")
	f.IntVar(&p.Limit, "limit", 5, "`rows` per page")
	f.IntVar(&p.Repetitions, "repetitions", 10, "how many `times` each page is read in each way, at least 6")
	o.addFlags(f)
	o.addTableFlag(f)
	f.StringVar(&o.seed, "seed", "", "`number` that the order of reading is made from (default: random, and reported in JSON)")
	f.Lookup("depths").DefValue = "" // an empty default is clearer than "[]"
	return cmd
}

func paginate(ctx context.Context, env *cli.Environment, o *databaseOptions, p *protocol.Paginate) error {
	p.Table = o.table
	w := cli.NewWatcher(env, o.quiet, 0, func(g *protocol.Progress) string {
		if g.Stage != "repetitions" {
			return ""
		}
		return fmt.Sprintf("repetition %d of %d", g.Rows, p.Repetitions)
	})
	p.EveryMS = w.Every(2000)
	res, err := o.do(ctx, env, "paginate", protocol.Job{Paginate: p}, w, func(t *task, out io.Writer, res *protocol.JobResult) error {
		r := res.Paginate
		if r == nil || len(r.Depths) == 0 || len(r.Depths[0].OffsetNS) == 0 {
			return nil
		}
		fmt.Fprintf(out, "table %s of %s: %d rows, pages of %d in the order of ID\n", p.Table, t.where(), r.Rows, p.Limit)
		return printPaginated(out, r.Depths)
	})
	if res != nil && res.Interrupted {
		fmt.Fprintln(env.Stderr, "interrupted")
	}
	return err
}

// depth summarizes the times to read the page that follows a given number of rows.
type depth struct {
	rows                  int64
	offset, keyset, ratio stats.Summary // offset and keyset in seconds; ratio is their quotient
}

func summed(pages []protocol.Page) (list []depth) {
	for _, g := range pages {
		var offset, keyset, ratio []float64
		for i, ns := range g.OffsetNS {
			offset = append(offset, float64(ns)/1e9)
			keyset = append(keyset, float64(g.KeysetNS[i])/1e9)
			ratio = append(ratio, offset[i]/keyset[i])
		}
		list = append(list, depth{g.Depth, stats.Summarize(offset), stats.Summarize(keyset), stats.Summarize(ratio)})
	}
	return list
}

func printPaginated(out io.Writer, pages []protocol.Page) error {
	list := summed(pages)
	var rows [][]string
	for _, d := range list {
		rows = append(rows, []string{fmt.Sprint(d.rows), seconds(d.offset.Median), interval(d.offset, seconds), seconds(d.keyset.Median), interval(d.keyset, seconds),
			tenths(d.ratio.Median), interval(d.ratio, tenths)})
	}
	if err := document.PrintTable(out, ">depth|>OFFSET|>[95% interval]|>keyset|>[95% interval]|>OFFSET ÷ keyset|>[95% interval]", rows); err != nil {
		return err
	}
	fmt.Fprintf(out, "n = %d each, interleaved in one process; closed loop\n\n", list[0].offset.N)
	return printCurve(out, list)
}

func tenths(ratio float64) string { return fmt.Sprintf("%.1f", ratio) }

func seconds(s float64) string { return short(int64(math.Round(s * 1e9))) }

func interval(s stats.Summary, word func(float64) string) string {
	if s.Interval == nil {
		return "n<6"
	}
	return fmt.Sprintf("[%s, %s]", word(s.Interval.Low), word(s.Interval.High))
}

// curveWidth is the width of the curve in characters, from the lowest to the highest power of ten.
const curveWidth = 60

// printCurve draws the median times on a logarithmic scale: o for OFFSET, k for keyset, and x if
// both are in the same column.
func printCurve(out io.Writer, list []depth) error {
	least, most := math.Inf(1), math.Inf(-1)
	for _, d := range list {
		for _, s := range []float64{d.offset.Median, d.keyset.Median} {
			least, most = min(least, math.Log10(s)), max(most, math.Log10(s))
		}
	}
	low, high := math.Floor(least), math.Ceil(most)
	if high == low {
		high++
	}
	at := func(s float64) int { return int(math.Round((math.Log10(s) - low) / (high - low) * curveWidth)) }
	width := len(fmt.Sprint(list[len(list)-1].rows))
	for _, d := range list {
		line := []byte(strings.Repeat(" ", curveWidth+1))
		for decade := low; decade <= high; decade++ {
			line[at(math.Pow(10, decade))] = '.'
		}
		k, o := at(d.keyset.Median), at(d.offset.Median)
		line[k], line[o] = 'k', 'o'
		if k == o {
			line[k] = 'x'
		}
		fmt.Fprintf(out, "%*d |%s\n", width, d.rows, strings.TrimRight(string(line), " "))
	}
	scale := ""
	for decade := low; decade <= high; decade++ {
		scale += strings.Repeat(" ", max(at(math.Pow(10, decade))-utf8.RuneCountInString(scale), 0)) + seconds(math.Pow(10, decade))
	}
	_, err := fmt.Fprintf(out, "%*s  %s\n%*s  o OFFSET, k keyset, x both; logarithmic\n", width, "", scale, width, "")
	return err
}
