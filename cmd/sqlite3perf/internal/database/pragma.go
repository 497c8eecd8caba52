package database

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func PragmaCommand(env *cli.Environment) *cobra.Command {
	o := &databaseOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "pragma NAME[=VALUE]...",
		Short: "Read pragmas, or set them and show the effect",
		Long: `Pragma reads each named pragma, or sets it and reads it back. A pragma that was set is
read again on a second connection, because most pragmas apply only to one connection:
setting synchronous here changes nothing for anyone else. Set those where the database
is opened: --db 'a.db?_synchronous=off'.

If a pragma does not have the value it was set to, the exit status is 1.`,
		Example: `  sqlite3perf pragma journal_mode synchronous --db a.db
  sqlite3perf pragma journal_mode=wal --db a.db --driver modernc`,
		Args: cli.Arguments(1, -1, "the pragma"),
		RunE: func(cmd *cobra.Command, args []string) error { return pragma(cmd.Context(), env, o, args) },
	})
}

func pragma(ctx context.Context, env *cli.Environment, o *databaseOptions, args []string) error {
	p := &protocol.Pragma{}
	for _, s := range args {
		if cli.IsDatabase(s) {
			return cli.Usagef("%s is a database: name it with --db, as in: sqlite3perf pragma journal_mode --db %s", s, s)
		}
		a, err := protocol.ParsePragma(s)
		if err != nil {
			return cli.WrongUsage(err)
		}
		p.Pragmas = append(p.Pragmas, a)
	}
	w := cli.NewWatcher(env, o.quiet, 0, func(*protocol.Progress) string { return "" })
	res, err := o.do(ctx, env, "pragma", protocol.Job{Pragma: p}, w, func(t *task, out io.Writer, res *protocol.JobResult) error {
		var rows [][]string
		for _, r := range res.Pragma {
			row := []string{document.Line(r.Name), answer(r.Before), ""}
			if r.Set != nil {
				row[1] += " → " + answer(r.Got)
				row[2] = verdict(&r)
			}
			rows = append(rows, row)
		}
		fmt.Fprintln(out, t.where())
		return document.PrintTable(out, "||", rows)
	})
	if err == nil && slices.ContainsFunc(res.Pragma, func(r protocol.PragmaRead) bool { return r.Set != nil && !r.Took }) {
		return cli.StatusError(cli.ExitFailed)
	}
	return err
}

func answer(rows []string) string {
	if len(rows) == 0 {
		return "(no answer)"
	}
	return document.Line(strings.Join(rows, " "))
}

// verdict says whether setting a pragma had an effect.
func verdict(r *protocol.PragmaRead) string {
	switch {
	case !r.Took:
		return "not set to " + document.Line(*r.Set)
	case r.Later == nil:
		return "set; the database in memory ended with its connection"
	case !r.Outlives:
		return fmt.Sprintf("set, but for that connection only: a new one has %s", answer(r.Later))
	case answer(r.Before) == answer(r.Got):
		return "it had this value before, and a new connection has it too"
	}
	return "set, and a new connection has it too"
}
