package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// take makes r the pinned release of a driver, which is the release in the driver's go.mod. If r is
// pinned already, take only writes r to driver.json with its date.
func (b *bumper) take(ctx context.Context, k build.Known, r build.Release) error {
	if r.Version == k.Version {
		return setRelease(k.Dir, r)
	}
	fmt.Fprintf(b.out, "\n%s: %s to %s\n", k.Name, k.Version, r.Version)
	for _, args := range [][]string{{"get", k.Module + "@" + r.Version}, {"mod", "tidy"}} {
		if _, err := run(ctx, k.Dir, append([]string{"go"}, args...)...); err != nil {
			return err
		}
	}
	if err := setRelease(k.Dir, r); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%s: running its tests\n", k.Name)
	if _, err := run(ctx, k.Dir, "go", "test", "-skip", "^Test(Soak|Prove|Kills)", "./..."); err != nil {
		return fmt.Errorf("%w\nits tests fail with %s: mend it (limits are in %s), or type git restore %s",
			err, r.Version, filepath.Join(k.Dir, "driver.json"), k.Dir)
	}
	fmt.Fprintf(b.out, "%s: comparing the releases\n", k.Name)
	differs, err := b.compare(ctx, k.Name+"@"+k.Version, k.Name+"@"+r.Version)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("- **%s**: %s instead of %s, released %s. %s", k.Name, r.Version, k.Version, r.Date, differs)
	if err := addLine(filepath.Join(b.root, "CHANGELOG.md"), line); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%s\nNow read the release notes: what changed for users belongs into driver.json, defects into internal/defects/defects.json.\nType git grep -F %s for documents that name the old release, and make sources.\n", line, k.Version)
	return nil
}

// compare measures two releases of a driver against each other, and returns the result in words.
func (b *bumper) compare(ctx context.Context, first, second string) (string, error) {
	command := append(b.tool[:len(b.tool):len(b.tool)], "compare", first, second,
		"--workloads", b.workloads, "--time", b.time, "--format", "json", "--quiet")
	out, err := run(ctx, b.root, command...)
	var sides compare.JSONSides
	if jerr := json.Unmarshal(out, &sides); jerr != nil || len(sides.Cells) == 0 {
		return "", errors.Join(fmt.Errorf("%s compared nothing", strings.Join(command, " ")), err)
	}
	return found(&sides), ctx.Err() // err is ignored: compare also exits with an error status if something is slower or not known yet
}

// found says in which cells (timed phases) the two sides differ clearly, and the mean ratio of times.
func found(sides *compare.JSONSides) string {
	var differ []string
	for _, c := range sides.Cells {
		switch c.Verdict {
		case stats.Slower, stats.Faster:
			differ = append(differ, fmt.Sprintf("%s is %s (%.2fx)", c.TableName, c.Verdict, c.Ratio.Median))
		case stats.Bad, stats.Differing, stats.FailsMore, stats.FailsLess:
			differ = append(differ, fmt.Sprintf("%s: %s", c.TableName, c.Verdict))
		}
	}
	text := fmt.Sprintf("Of %d measured cells, none is clearly slower or faster", len(sides.Cells))
	if differ != nil {
		text = fmt.Sprintf("Of %d measured cells, %s", len(sides.Cells), strings.Join(differ, ", "))
	}
	if m := sides.Mean; m != nil {
		text += fmt.Sprintf("; the mean ratio of times is %.2fx", m.Median)
		if m.Interval != nil {
			text += fmt.Sprintf(" (%.2f to %.2f)", m.Interval.Low, m.Interval.High)
		}
	}
	return text + "."
}

// run runs a command in dir and returns its standard output. If the command fails, the error has
// the end of its output.
func run(ctx context.Context, dir string, command ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	process.Isolate(cmd)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		all := strings.TrimSpace(said.String() + "\n" + out.String())
		return out.Bytes(), fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, all[max(0, len(all)-4000):])
	}
	return out.Bytes(), nil
}

var releaseField = regexp.MustCompile(`"release": *\{[^{}]*\}`)

// setRelease writes a release into the driver.json in dir. It changes nothing else in the file.
func setRelease(dir string, r build.Release) error {
	file := filepath.Join(dir, "driver.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	field := fmt.Sprintf(`"release": {"version": "%s", "date": "%s"}`, r.Version, r.Date)
	if releaseField.Match(text) {
		text = releaseField.ReplaceAllLiteral(text, []byte(field))
	} else {
		body := bytes.TrimRight(text[:bytes.LastIndexByte(text, '}')], " \n")
		text = fmt.Appendf(bytes.Clone(body), ",\n  %s\n}\n", field)
	}
	return os.WriteFile(file, text, 0o644)
}

// addLine adds a line about a driver to the section Unreleased of a changelog. It creates the file
// if it does not exist.
func addLine(file, line string) error {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(data)
	if text == "" {
		text = "# Changelog\n"
	}
	const unreleased, drivers = "\n## Unreleased\n", "\n### Drivers\n\n"
	before, section, found := strings.Cut(text, unreleased)
	if !found {
		before, section = strings.TrimRight(text, "\n")+"\n", ""
		if intro, releases, ok := strings.Cut(text, "\n## "); ok { // a changelog begins with the newest section, so the new section is added before all others
			before, section = intro, "\n## "+releases
		}
	}
	rest := ""
	if i := strings.Index(section, "\n## "); i >= 0 {
		section, rest = section[:i], section[i:]
	}
	if i := strings.Index(section, drivers); i >= 0 {
		i += len(drivers)
		section = section[:i] + line + "\n" + section[i:]
	} else {
		if section = strings.TrimRight(section, "\n"); section != "" {
			section += "\n"
		}
		section += drivers + line + "\n"
	}
	return os.WriteFile(file, []byte(before+unreleased+section+rest), 0o644)
}
