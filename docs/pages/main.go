// Pages makes the report pages and the screenshots in the documents from stored runs:
//
//	go run ./docs/pages -tool bin/sqlite3perf -screenshots results.db:3 default=results.db:3 writers=results.db:4
//
// For each argument NAME=STORE:RUN, it writes the report page of the run to docs/reports/NAME.html,
// with shortened paths of this machine. The run of -screenshots should have measured all drivers on
// the default workloads. Screenshots of this run are written to docs/images, and the beginning of
// its report on a terminal is written into the README.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

func main() {
	p := pages{}
	flag.StringVar(&p.tool, "tool", "bin/sqlite3perf", "`executable` that is run for sqlite3perf")
	flag.StringVar(&p.docs, "docs", "docs", "`directory` of the documents")
	screenshots := flag.String("screenshots", "", "`STORE:RUN` that screenshots are taken of (default: none)")
	flag.Parse()
	if flag.NArg() == 0 && *screenshots == "" {
		fmt.Fprintln(os.Stderr, "pages: name a report, such as default=results.db:3, or -screenshots results.db:3")
		os.Exit(2)
	}
	if err := p.make(context.Background(), *screenshots, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

type pages struct {
	tool, docs string
	dir        string // directory for temporary files
}

func (p *pages) make(ctx context.Context, screenshots string, reports []string) error {
	dir, err := os.MkdirTemp("", "pages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p.dir = dir
	for _, r := range reports {
		name, ref, ok := strings.Cut(r, "=")
		if !ok {
			return fmt.Errorf("%s: want NAME=STORE:RUN", r)
		}
		if err := p.report(ctx, ref, filepath.Join(p.docs, "reports", name+".html")); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	if screenshots == "" {
		return nil
	}
	if err := p.screen(ctx, screenshots); err != nil {
		return fmt.Errorf("%s: %w", screenshots, err)
	}
	return p.screenshots(ctx, screenshots)
}

func (p *pages) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.tool, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%v: %w\n%s", args, err, exit.Stderr)
	}
	return out, err
}

func split(ref string) (store, run string, err error) {
	i := strings.LastIndexByte(ref, ':')
	if i < 0 {
		return "", "", fmt.Errorf("%s: want STORE:RUN", ref)
	}
	return ref[:i], ref[i+1:], nil
}

// stored reads a run from its store.
func (p *pages) stored(ctx context.Context, ref string) (*result.Run, error) {
	store, run, err := split(ref)
	if err != nil {
		return nil, err
	}
	data, err := p.run(ctx, "show", run, "--store", store, "--format", "json")
	if err != nil {
		return nil, err
	}
	return report.ReadJSON(bytes.NewReader(data))
}

func (p *pages) report(ctx context.Context, ref, file string) error {
	run, err := p.stored(ctx, ref)
	if err != nil {
		return err
	}
	data, err := published(run)
	if err != nil {
		return err
	}
	exported := filepath.Join(p.dir, "run.json")
	if err := os.WriteFile(exported, data, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	_, err = p.run(ctx, "report", exported, "-o", file)
	return err
}

// published returns the JSON report of a run without the paths of this machine. It removes the store
// from the command, and shortens the path of the directory for databases: ~ is the home directory.
func published(run *result.Run) ([]byte, error) {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(run.Machine.Directory, home+"/") {
		run.Machine.Directory = "~" + strings.TrimPrefix(run.Machine.Directory, home)
	}
	if i := slices.Index(run.Command, "--store"); i >= 0 && i+1 < len(run.Command) {
		run.Command = slices.Delete(run.Command, i, i+2)
	}
	return json.Marshal(report.JSON{Version: report.JSONVersion, Run: run})
}
