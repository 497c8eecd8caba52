package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/store"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

func showCommand(env *environment) *cobra.Command {
	var storeFile string
	o := &outputOptions{}
	cmd := &cobra.Command{
		Use:     "show RUN",
		Short:   "Print the results of a stored run",
		Long:    `Show prints a run of the store: by its number, as runs lists them, or "last".`,
		Example: "  sqlite3perf show last\n  sqlite3perf show 3 --format csv -o run3.csv",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := configure(cmd); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			path, err := storePath(storeFile)
			if err != nil {
				return err
			}
			st, err := store.OpenReadOnly(path)
			if err != nil {
				return err
			}
			defer st.Close()
			id, err := st.Resolve(cmd.Context(), args[0])
			if err != nil {
				return usageError{err}
			}
			run, err := st.Load(cmd.Context(), id)
			if err != nil {
				return err
			}
			return write(env, o, run)
		},
	}
	addStoreFlag(cmd.Flags(), &storeFile)
	o.addFlags(cmd.Flags())
	return cmd
}

// write prints a run as the options ask.
func write(env *environment, o *outputOptions, run *result.Run) error {
	opts := report.Options{Floor: floorDriver, Width: env.stdoutWidth}
	if o.file == "" {
		opts.Color = env.stdoutWidth > 0 && !o.noColor && os.Getenv("NO_COLOR") == ""
		return report.Write(env.stdout, o.format, run, opts)
	}
	var buf bytes.Buffer
	opts.Width = 0
	if err := report.Write(&buf, o.format, run, opts); err != nil {
		return err
	}
	// Under another name first: a disk that fills up leaves the old file whole.
	temp, err := os.CreateTemp(filepath.Dir(o.file), ".sqlite3perf-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if _, err := temp.Write(buf.Bytes()); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Chmod(0o644); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), o.file)
}

// floorDriver is the driver that every other's distance is measured from.
const floorDriver = "native"
