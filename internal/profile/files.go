package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
)

// Extensions and names of the files of a profile.
const (
	cpuFile        = ".cpu.pprof"
	allocsFile     = ".allocs.pprof"
	flameFile      = ".flame.svg"
	PageFile       = "profile.html" // page with the answer, the tables and the flame graphs
	firefoxFile    = "firefox.json" // profile for the Firefox Profiler
	differenceFile = "difference.flame.svg"

	// manifestFile lists the SHA-256 of each file that the command `sqlite3perf profile` wrote, in the
	// format of sha256sum.
	manifestFile = "profile.sha256"
)

// maxManifest is the greatest size of a manifest, in bytes.
const maxManifest = 1 << 20

// Files are the files of a profile. They are in one directory.
type Files struct {
	Dir     string
	drivers []string
}

// FilesOf returns the files of a profile of drivers. The parameter "dir" is their directory. If it
// is "", the directory is profile-WORKLOAD-PHASE.
func FilesOf(dir, workload, phase string, drivers []string) *Files {
	if dir == "" {
		dir = fmt.Sprintf("profile-%s-%s", fileName(workload), fileName(phase))
	}
	return &Files{dir, drivers}
}

// Foreign returns the name of a file that Write would overwrite although its content is not from the
// command `sqlite3perf profile`: another program created the file, or changed it later. It returns "" if
// there is no such file.
func (f *Files) Foreign() string {
	var names []string
	for i := range f.drivers {
		for _, suffix := range []string{cpuFile, allocsFile, flameFile} {
			names = append(names, f.baseName(i)+suffix)
		}
	}
	known := readManifest(f.Dir)
	for _, name := range append(names, differenceFile, firefoxFile, PageFile) {
		if file := filepath.Join(f.Dir, name); !known.wrote(file, name) {
			return file
		}
	}
	return ""
}

// baseName returns the beginning of the names of the files of the driver with index i.
func (f *Files) baseName(i int) string {
	name := fileName(f.drivers[i])
	for _, other := range f.drivers[:i] {
		if fileName(other) == name {
			return fmt.Sprintf("%s-%d", name, i+1)
		}
	}
	return name
}

func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || r == '@' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, s)
	return strings.TrimLeft(s, ".-_")
}

// manifest has the SHA-256, in hex, of each file that the command `sqlite3perf profile` wrote to a
// directory, by file name.
type manifest map[string]string

// readManifest reads the manifest of a directory. If the manifest cannot be read, readManifest returns
// an empty one, so that no file is replaced.
func readManifest(dir string) manifest {
	m := manifest{}
	data, _ := directory.ReadRegular(filepath.Join(dir, manifestFile), maxManifest)
	for line := range strings.Lines(string(data)) {
		if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			m[name] = sum
		}
	}
	return m
}

// wrote reports whether a file may be written. That is so if the file does not exist, or if it
// still has the content that the manifest lists under the given name.
func (m manifest) wrote(file, name string) bool {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	data, err := directory.ReadRegular(file, directory.MaxOwn)
	return err == nil && m[name] == directory.Sum(data)
}

// Write writes the files of each driver that has a profile. It lists the files in the parameter
// "answer".
func (f *Files) Write(done []*lab.Profiled, answer *Profiled) error {
	answer.Into = f.Dir
	if err := os.Mkdir(f.Dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("creating the directory for the profiles: %w", err)
	}
	known := readManifest(f.Dir)
	var failure error // error of the first file that could not be written; no file is written after this error
	put := func(name string, write func(io.Writer) error) {
		if failure != nil {
			return
		}
		var data bytes.Buffer
		err := write(&data)
		if err == nil {
			err = process.Replace(filepath.Join(f.Dir, name), data.Bytes())
		}
		if err != nil {
			failure = fmt.Errorf("writing %s: %w", filepath.Join(f.Dir, name), directory.Reason(err))
			return
		}
		known[name] = directory.Sum(data.Bytes())
		answer.Files = append(answer.Files, name)
	}
	for _, side := range answer.Flames {
		i := slices.IndexFunc(done, func(d *lab.Profiled) bool { return d.Case.ID == side.Case })
		base, d := f.baseName(i), done[i]
		if cpu := d.Recording.CPU; cpu != nil {
			put(base+cpuFile, cpu.Write)
		}
		if allocs := d.Recording.Allocs; allocs != nil {
			put(base+allocsFile, allocs.Write)
		}
		title := fmt.Sprintf("CPU time per trial of %s in %s of %s, %d samples", side.Name, answer.Phase, answer.Workload, stacks.Samples(side.Stacks))
		put(base+flameFile, func(w io.Writer) error { return writeFlame(w, title, FlameOf(side)) })
	}
	if sides := answer.Flames; len(sides) == 2 && len(done) == 2 {
		title := fmt.Sprintf("CPU time per trial in %s of %s: %s and %s", answer.Phase, answer.Workload, sides[0].Name, sides[1].Name)
		put(differenceFile, func(w io.Writer) error { return writeFlame(w, title, differenceOf(sides[0], sides[1])) })
	}
	for _, in := range []struct{ name, format string }{{firefoxFile, FirefoxFormat}, {PageFile, "html"}} {
		put(in.name, func(w io.Writer) error { return Formats.Write(w, in.format, answer, document.Options{}) })
	}
	if failure != nil {
		return failure
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&list, "%s  %s\n", known[name], name)
	}
	if err := process.Replace(filepath.Join(f.Dir, manifestFile), list.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Join(f.Dir, manifestFile), directory.Reason(err))
	}
	return nil
}

// Kept returns profiles in the form in which a run stores them. The parameter "noPerf" says why
// perf was not used.
func Kept(done []*lab.Profiled, phase, noPerf string) *result.Profiles {
	p := &result.Profiles{Phase: phase, NoPerf: noPerf}
	for _, d := range done {
		if d.Status == result.OK && d.Recording.Trials == 0 {
			continue
		}
		x := d.Recording.Keep()
		x.Case, x.Status, x.Reason, x.Perf = d.Case.ID, d.Status, d.Reason, d.Perf
		p.Cases = append(p.Cases, x)
	}
	return p
}

// End returns the reason why profiling ended, as a value of [result.Run.Stopped].
func End(done []*lab.Profiled, interrupted bool) string {
	enough := func(d *lab.Profiled) bool {
		return d.Status != result.OK || stacks.Samples(d.Recording.Stacks()) >= lab.EnoughSamples
	}
	switch {
	case interrupted:
		return result.StoppedInterrupted
	case !slices.ContainsFunc(done, func(d *lab.Profiled) bool { return !enough(d) }):
		return result.StoppedSettled
	}
	return result.StoppedTime
}

func writeFlame(w io.Writer, title string, graph *chart.Flame) error {
	return chart.WriteSVG(w, chart.Titled{Chart: graph, Title: document.Line(title)})
}
