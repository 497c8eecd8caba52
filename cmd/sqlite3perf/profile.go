package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// profileOptions are the flags of profile.
type profileOptions struct {
	runOptions
	phase string
	force bool
}

func profileCommand(env *environment) *cobra.Command {
	o := &profileOptions{}
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Show where the time of a phase goes",
		Long: `Profile runs extra trials of one workload under profilers and says where the CPU time
of one phase goes: SQLite, the driver, database/sql, garbage collection, calls from Go
to C, the system. Of two drivers it also shows the difference. The profiles are stored as
a run, which show and report print again.

Linux's perf samples C and Go. Where it is not installed Go's profiler is used, which
sees less, and all time in C is one row. Trials are repeated until each driver has 500
samples or --time is over; each share is printed with its margin.

The directory that -o names gets, for each driver, the raw profiles for go tool pprof and
a flame graph; of two drivers also a flame graph of the difference; and profile.html, a
page with all of it.`,
		Example: `  sqlite3perf profile --drivers mattn,modernc --workloads real --phase query
  sqlite3perf profile --drivers modernc@v1.46.0,modernc --workloads simple --phase insert --scale full
  sqlite3perf profile --drivers mattn --workloads ./mine.yaml -o mine --format json`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return profileDrivers(cmd.Context(), env, o) },
	}
	cmd.Flags().SortFlags = false
	o.addFlags(cmd.Flags())
	return cmd
}

// profileTime is how long trials go on unless --time says otherwise.
const profileTime = time.Minute

// addFlags adds the flags of run that mean something here, and its own.
func (o *profileOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to profile, such as mattn,modernc; of two the difference is shown")
	o.addWorkFlags(f)
	f.Lookup("workloads").Usage = "the workload: a built-in one or a YAML file"
	f.StringVar(&o.phase, "phase", "", "the phase; it may be left out if only one is timed")
	ofRun := pflag.NewFlagSet("", pflag.ContinueOnError)
	ofRun.SortFlags = false
	o.addScheduleFlags(ofRun)
	o.addPlaceFlags(ofRun)
	ofRun.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"rounds", "precision"}, flag.Name) {
			f.AddFlag(flag)
		}
	})
	o.flags, o.time = f, profileTime
	f.Lookup("time").DefValue, f.Lookup("time").Usage = profileTime.String(), "begin no further trial after this time, except for the first of each driver"
	f.Lookup("output").Usage = "`directory` for the files; it is created if only its last part is missing (default: profile-WORKLOAD-PHASE)"
	f.Lookup("format").Usage = "how the answer is printed: " + strings.Join(profile.Formats.Names(), ", ")
	f.Lookup("format").DefValue = tableFormat
	o.output.known, o.output.asked = profile.Formats.Check, nil // -o is a directory
	f.BoolVar(&o.force, "force", false, "also replace files that profile did not write")
}

// profileRequest is what the flags ask for, after checking.
type profileRequest struct {
	request
	phase string
	into  string // the directory
	files []string
}

// check converts the options, without creating or changing anything.
func (o *profileOptions) check(ctx context.Context) (*profileRequest, error) {
	r := &profileRequest{}
	return r, inOrder(
		func() error { return o.checkFlags(r) },
		func() error { return o.checkDrivers(ctx, &r.request) },
		func() error { return o.checkPlaces(&r.request) },
		func() error { return o.checkWorkloads(&r.request) },
		func() error { return o.checkMatrix(&r.request) },
		func() error { return o.checkCase(r) },
		func() error { return o.checkFiles(r) },
	)
}

func (o *profileOptions) checkFlags(r *profileRequest) (err error) {
	if err := o.output.checkFormat(); err != nil {
		return err
	}
	if o.time <= 0 {
		return usagef("--time %v: want a time above 0, such as 1m", o.time)
	}
	if o.trialLimit <= 0 {
		return usagef("--trial-limit %v: want a time above 0, such as 10m", o.trialLimit)
	}
	if len(o.drivers) == 0 {
		return usagef("--drivers is missing: name one, or two to see the difference, such as --drivers mattn,modernc")
	}
	if len(o.workloads) != 1 {
		return usagef("--workloads: profile takes one, such as --workloads real")
	}
	r.schedule.Time = o.time
	r.matrix.Seed, err = seed(o.seed)
	return err
}

// checkCase finds the phase. Each driver must have one case.
func (o *profileOptions) checkCase(r *profileRequest) error {
	for name, values := range r.matrix.Settings {
		if len(values) > 1 {
			return usagef("--set %s has %d values: profile takes one", name, len(values))
		}
	}
	for name, values := range r.matrix.Parameters {
		if len(values) > 1 {
			return usagef("--param %s has %d values: profile takes one", name, len(values))
		}
	}
	n := 0
	for _, c := range r.cases {
		if c.Driver == r.cases[0].Driver {
			n++
		}
	}
	if n != 1 {
		return usagef("workload %s has %d cases, by its parameters: choose one with --param", r.matrix.Workloads[0].Name, n)
	}
	phases := r.cases[0].Phases
	switch {
	case o.phase == "" && len(phases) == 1:
		r.phase = phases[0]
	case o.phase == "":
		return usagef("workload %s has several timed phases: choose one with --phase: %s", r.cases[0].Workload, strings.Join(phases, ", "))
	case !slices.Contains(phases, o.phase):
		return usagef("workload %s has no timed phase %q: %s", r.cases[0].Workload, o.phase, driver.Suggest(o.phase, phases))
	default:
		r.phase = o.phase
	}
	return nil
}

// The files of a profile.
const (
	cpuFile        = ".cpu.pprof"
	allocsFile     = ".allocs.pprof"
	flameFile      = ".flame.svg"
	pageFile       = "profile.html"
	differenceFile = "difference.flame.svg"

	// manifestFile lists the SHA-256 of what profile has written, as sha256sum does.
	manifestFile = "profile.sha256"
)

// checkFiles finds out whether the files can be written.
func (o *profileOptions) checkFiles(r *profileRequest) error {
	r.into = o.output.file
	if r.into == "" {
		r.into = fmt.Sprintf("profile-%s-%s", fileName(r.cases[0].Workload), fileName(r.phase))
	}
	for i := range r.cases {
		for _, suffix := range []string{cpuFile, allocsFile, flameFile} {
			r.files = append(r.files, r.baseName(i)+suffix)
		}
	}
	r.files = append(r.files, differenceFile, pageFile)
	fi, err := os.Stat(r.into)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(r.into) == filepath.Ext(pageFile):
		return usagef("-o %s: profile writes several files, so name a directory: the page is %s in it", r.into, pageFile)
	case errors.Is(err, fs.ErrNotExist):
		if dir := filepath.Dir(r.into); !isDirectory(dir) {
			return noDirectory("-o "+r.into, dir)
		}
	case err != nil:
		return usagef("-o %w", err)
	case !fi.IsDir():
		return usagef("-o %s is a file: profile writes several, so name a directory", r.into)
	}
	scratch, err := beside(filepath.Clean(r.into))
	if err != nil {
		return usagef("-o %s: cannot write there: %w: name another directory", r.into, reason(err))
	}
	scratch.Remove()
	known := readManifest(r.into)
	for _, name := range r.files {
		if file := filepath.Join(r.into, name); !o.force && !known.wrote(file, name) {
			return usagef("%s exists, and profile did not write it, or it has been changed: name another directory with -o, or replace it with --force", file)
		}
	}
	return nil
}

// baseName begins the names of the i-th driver's files.
func (r *profileRequest) baseName(i int) string {
	name := fileName(r.cases[i].Driver)
	for _, c := range r.cases[:i] {
		if fileName(c.Driver) == name {
			return fmt.Sprintf("%s-%d", name, i+1)
		}
	}
	return name
}

// fileName replaces what does not belong in the name of a file.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || r == '@' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, s)
	return strings.TrimLeft(s, ".-_")
}

// manifest has the SHA-256, in hex, of each file that profile wrote into a directory.
type manifest map[string]string

// readManifest reads the manifest of a directory. What cannot be read is as if it were
// not there: nothing is then replaced.
func readManifest(dir string) manifest {
	m := manifest{}
	data, _ := directory.ReadRegular(filepath.Join(dir, manifestFile), maxConfig)
	for line := range strings.Lines(string(data)) {
		if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			m[name] = sum
		}
	}
	return m
}

// maxOwn is the most bytes of a file that may be one that sqlite3perf wrote.
const maxOwn = 1 << 30

// wrote reports whether there is nothing in the way: no file, or one that profile wrote.
func (m manifest) wrote(file, name string) bool {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	data, err := directory.ReadRegular(file, maxOwn)
	return err == nil && m[name] == sumOf(data)
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// profileDrivers profiles what the options ask for and prints where the time went.
func profileDrivers(ctx context.Context, env *environment, o *profileOptions) error {
	o.computing = newProgress(env, o.quiet).Computing
	r, err := o.check(ctx)
	if err != nil {
		return err
	}
	show := newProgress(env, o.quiet)
	defer show.finish()
	env.outliveReaders()
	var measuring atomic.Bool
	ctx, stop, release := env.interruptible(ctx, show.say, stoppingTrials(measuring.Load))
	defer release()
	scratch, err := process.NewScratch(r.dir, runDirectory)
	if err != nil {
		return fmt.Errorf("directory for databases: %w: name another with --dir", err)
	}
	defer scratch.Remove()
	observer, err := machine.Observe(scratch.Dir)
	if err != nil {
		return fmt.Errorf("%w: name another directory with --dir", err)
	}
	st, err := store.Open(until(ctx, stop), r.storePath)
	if err == nil {
		defer st.Close()
	}
	if err := unlessInterrupted(stop, err); err != nil {
		return err
	}
	if !o.quiet {
		sayNeeded(r.cases, show.say)
	}
	if err := unlessInterrupted(stop, lab.Prepare(until(ctx, stop), r.cases, r.builder, show)); err != nil {
		return err
	}
	perf, noPerf := lab.FindPerf(ctx, scratch.Dir)
	processes := &lab.Processes{Dir: scratch.Dir, Limit: o.trialLimit, Hint: featuresHint, Elsewhere: elsewhereHint}
	if err := unlessInterrupted(stop, processes.CheckNeeds(until(ctx, stop), r.cases)); err != nil {
		return err
	}
	p := &lab.Profiler{
		Phase: r.phase, Time: r.schedule.Time, Perf: perf, Noise: observer, Now: env.now, Stop: stop,
		Trial: func(ctx context.Context, c *lab.Case, want lab.Profiling) (*result.Trial, error) {
			return processes.Profile(ctx, c, r.matrix.Seed, want)
		},
		Progress: show.Profiled,
	}
	profiled := newRun(&r.request, machineIn(observer.Machine, r.dir), env.now())
	measuring.Store(true)
	done, err := p.Run(ctx, r.cases)
	show.finish()
	if err != nil {
		return err
	}
	if interrupted(stop) && !slices.ContainsFunc(done, func(d *lab.Profiled) bool { return d.Recording.Trials > 0 }) {
		return statusError(exitInterrupted)
	}
	profiled.Ended, profiled.Rounds, profiled.Warnings = env.now().UTC(), p.Rounds, p.Warnings
	profiled.Stopped, profiled.Profiles = profileEnd(done, interrupted(stop)), profilesOf(done, r.phase, noPerf)
	if slices.ContainsFunc(profiled.Profiles.Cases, func(x result.Profile) bool { return x.Status == result.OK }) {
		if err = st.Begin(ctx, profiled); err != nil {
			err = fmt.Errorf("the profiles are not stored: %w", err)
		}
	}
	answer := profile.ProfileOf(profiled, document.Hints{Samples: moreSamples})
	answer.Into = r.into
	err = errors.Join(err, r.write(done, answer))
	output := o.output
	output.file = "" // -o is the directory; the answer goes to standard output
	err = errors.Join(err, output.print(env, func(w io.Writer, format string, opts document.Options) error {
		return profile.Formats.Write(w, format, answer, opts)
	}, output.again(fmt.Sprintf("sqlite3perf show %d", profiled.ID))))
	switch {
	case err != nil:
		return err
	case interrupted(stop):
		return statusError(exitInterrupted)
	case slices.ContainsFunc(answer.Drivers, func(d profile.ProfiledDriver) bool { return d.Status != result.OK }):
		return statusError(exitIncomplete)
	}
	return nil
}

// moreSamples is what gives a profile more samples.
const moreSamples = "--time 5m or --scale full"

// profilesOf returns what was profiled as a run has it. A case without a trial has nothing.
func profilesOf(done []*lab.Profiled, phase, noPerf string) *result.Profiles {
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

// profileEnd says why profiling ended.
func profileEnd(done []*lab.Profiled, interrupted bool) string {
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

// write writes the files of the drivers that have profiles, and lists them in
// the answer.
func (r *profileRequest) write(done []*lab.Profiled, answer *profile.Profiled) error {
	if err := os.Mkdir(r.into, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("creating the directory for the profiles: %w", err)
	}
	known := readManifest(r.into)
	put := func(name string, write func(io.Writer) error) error {
		var data bytes.Buffer
		err := write(&data)
		if err == nil {
			err = replace(filepath.Join(r.into, name), data.Bytes())
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Join(r.into, name), reason(err))
		}
		known[name] = sumOf(data.Bytes())
		answer.Files = append(answer.Files, name)
		return nil
	}
	for _, side := range answer.Flames {
		i := slices.IndexFunc(done, func(d *lab.Profiled) bool { return d.Case.ID == side.Case })
		base, d := r.baseName(i), done[i]
		if cpu := d.Recording.CPU; cpu != nil {
			if err := put(base+cpuFile, cpu.Write); err != nil {
				return err
			}
		}
		if allocs := d.Recording.Allocs; allocs != nil {
			if err := put(base+allocsFile, allocs.Write); err != nil {
				return err
			}
		}
		title := fmt.Sprintf("CPU time per trial of %s in %s of %s, %d samples", side.Name, r.phase, answer.Workload, stacks.Samples(side.Stacks))
		err := put(base+flameFile, func(w io.Writer) error { return profile.FlameGraph(w, title, side) })
		if err != nil {
			return err
		}
	}
	if sides := answer.Flames; len(sides) == 2 && len(done) == 2 {
		title := fmt.Sprintf("CPU time per trial in %s of %s: %s and %s", r.phase, answer.Workload, sides[0].Name, sides[1].Name)
		err := put(differenceFile, func(w io.Writer) error { return profile.FlameDifference(w, title, sides[0], sides[1]) })
		if err != nil {
			return err
		}
	}
	if err := put(pageFile, func(w io.Writer) error { return profile.Formats.Write(w, "html", answer, document.Options{}) }); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&list, "%s  %s\n", known[name], name)
	}
	if err := replace(filepath.Join(r.into, manifestFile), list.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Join(r.into, manifestFile), reason(err))
	}
	return nil
}

// Profiled shows how many samples a driver has.
func (p *progress) Profiled(c *lab.Case, samples int64, t *result.Trial) {
	switch {
	case p.quiet:
	case t.Status != result.OK:
		p.say("%s on %s: %s: %s%s", c.Driver, c.Workload, t.Status, t.Reason.Message, conditions.Said(t.Reason))
	case p.told.IsZero() || p.now().Sub(p.told) >= between || samples >= lab.EnoughSamples:
		p.told = p.now()
		p.say("%s: %d of %d samples", c.Driver, min(samples, lab.EnoughSamples), lab.EnoughSamples)
	}
}
