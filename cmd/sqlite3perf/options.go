package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// runOptions are the flags of run as the user typed them.
type runOptions struct {
	flags      *pflag.FlagSet // flags of the command
	drivers    []string
	sided      bool // drivers are the two sides of a comparison
	workloads  []string
	allowFiles bool
	events     int64
	set        []string
	dsn        string
	param      []string
	scale      string
	rounds     int
	exact      bool // the user gave --rounds
	time       time.Duration
	precision  string // width at which a case is settled
	margin     string // difference that counts as none, for commands that compare
	seed       string
	dir        string
	trialLimit time.Duration
	workers    workerOptions
	hosts      hostOptions
	store      string
	output     outputOptions
	page       outputOptions // a page to be written in addition to output; without a file, none is written
	quiet      bool
	computing  func(workload string, done, total int64) // called while expected answers are computed, as in [lab.Matrix]
}

func addStoreFlag(f *pflag.FlagSet, value *string) {
	f.StringVar(value, "store", "", "`file` in which results are stored (default: results.db in the user's data directory)")
	reaching(f, writes, "store")
	grouped(f, groupOutput, "store")
}

func (o *runOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to measure: mattn, mattn@v1.14.22, mattn:tags=sqlite_fts5,GOGC=400, mattn=../go-sqlite3, ./my-worker (default: all that are not optional)")
	reaching(f, executes, "drivers")
	grouped(f, groupWhat, "drivers")
	o.addWorkFlags(f)
	o.addFigureFlags(f)
	o.addPlaceFlags(f)
	o.hosts.addFlags(f)
	o.output.addFullFlag(f)
	o.addPageFlag(f)
}

func (o *runOptions) addWorkFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringSliceVar(&o.workloads, "workloads", nil, "built-in workloads or YAML files (default: "+strings.Join(lab.DefaultWorkloads, ", ")+")")
	addAllowFilesFlag(f, &o.allowFiles)
	f.StringArrayVar(&o.set, "set", nil, "setting for all workloads, `name=value[,value...]`; several values make a matrix (repeatable); sqlite3perf workloads --language lists the settings")
	f.StringVar(&o.dsn, "dsn", "", "settings as a data source name spells them, mattn's or modernc's: '?_journal=wal&_sync=1'; its path is not opened")
	f.StringArrayVar(&o.param, "param", nil, "parameter of a workload, `name=value[,value...]`; workloads that have no such parameter run as they are; several values make a matrix (repeatable)")
	f.Int64Var(&o.events, workload.EventsParameter, 0, "replay only the first transactions of each recording, as many as have `number` events together (default: all)")
	grouped(f, groupWhat, "workloads", "allow-files", "set", "dsn", "param", workload.EventsParameter)
}

func (o *runOptions) addFigureFlags(f *pflag.FlagSet) {
	o.addScheduleFlags(f)
	f.StringVar(&o.precision, "precision", "5%", "a case is settled, and no longer measured, when the intervals of its ratios are within this `share` of them")
	grouped(f, groupLong, "precision")
}

// addMarginFlag adds --margin. usage says what its value means for the command.
func (o *runOptions) addMarginFlag(f *pflag.FlagSet, value, usage string) {
	f.StringVar(&o.margin, "margin", value, usage)
	grouped(f, groupLong, "margin")
	renamed(f, "precision", "margin")
}

// untilSettled lets the run end when its cases are settled, unless the user gave --rounds.
func (o *runOptions) untilSettled(r *request) {
	if !o.exact {
		r.schedule.Settled = stats.UntilSettled(floorDriver, r.precision)
	}
}

// addScheduleFlags adds the flags that say how much work is measured and how often.
func (o *runOptions) addScheduleFlags(f *pflag.FlagSet) {
	o.flags = f
	o.addScaleFlag(f)
	f.IntVar(&o.rounds, "rounds", 0, "exactly this many rounds, at least 6 (default: until all cases are settled, or --time is over)")
	o.addTimeFlag(f, 5*time.Minute, "stop before a round that would end later than this; six rounds are run in any case, unless it is known beforehand that they take longer: then nothing is measured")
	o.addSeedFlag(f)
	grouped(f, groupLong, "rounds")
}

func (o *runOptions) addScaleFlag(f *pflag.FlagSet) {
	f.StringVar(&o.scale, "scale", "quick", "how much work: quick, full, or a `factor` of full such as 0.1 (quick is 0.02 to 0.05 of full in most built-in workloads)")
	grouped(f, groupLong, "scale")
}

func (o *runOptions) addTimeFlag(f *pflag.FlagSet, value time.Duration, usage string) {
	f.DurationVar(&o.time, "time", value, usage)
	grouped(f, groupLong, "time")
}

func (o *runOptions) addSeedFlag(f *pflag.FlagSet) {
	f.StringVar(&o.seed, "seed", "", "`number` that all values and the order of trials are made from (default: random, below 2⁵³, and reported)")
	grouped(f, groupWhat, "seed")
}

func addDirFlag(f *pflag.FlagSet, value *string) {
	f.StringVar(value, "dir", "", "`directory` on the file system to measure; databases are created in it and removed, and so are those that killed runs left there (default: in the user's cache directory)")
	reaching(f, writes, "dir")
	grouped(f, groupWhere, "dir")
}

func addQuietFlag(f *pflag.FlagSet, value *bool) {
	f.BoolVar(value, "quiet", false, "no progress")
	grouped(f, groupOutput, "quiet")
}

func (o *runOptions) addPlaceFlags(f *pflag.FlagSet) {
	addDirFlag(f, &o.dir)
	f.DurationVar(&o.trialLimit, "trial-limit", 10*time.Minute, "a trial that takes longer is ended, and its cell has failed")
	grouped(f, groupLong, "trial-limit")
	o.workers.addFlags(f)
	addQuietFlag(f, &o.quiet)
	addStoreFlag(f, &o.store)
	o.output.addFlags(f)
}

func (o *runOptions) addPageFlag(f *pflag.FlagSet) {
	f.StringVar(&o.page.file, "html", "", "`file` that a page with pictures is written to, in addition to the printed result")
	reaching(f, writes, "html")
	grouped(f, groupOutput, "html")
}

// request is a runOptions after checking. Nothing has been created yet.
type request struct {
	matrix    lab.Matrix
	cases     []*lab.Case
	schedule  lab.Schedule
	precision float64 // from --precision; 0 if the run does not go on until figures are precise
	margin    float64 // from --margin or --max-regression
	workshop
	leftOut   []result.LeftOut
	study     *result.Study // the study that the run reproduces; nil if it reproduces none
	compares  *result.Compares
	search    *result.Search
	resumed   *result.Run          // the stored run to resume; nil if a new run is measured
	retyped   map[string]build.Ref // drivers of resumed that the user had to type again, by name
	ahead     string               // message to print before the run begins; "" for none
	least     time.Duration        // least time of the run, if known beforehand
	dir       string
	host      *result.Host // the host to measure on; nil for this machine
	storePath string

	// tried, if not nil, is called before any worker is built. If it returns an error, nothing is
	// measured.
	tried    func(context.Context, *lab.Processes, lab.Building) error
	prepared func([]*lab.Case) error     // called after workers are built; if it returns an error, nothing is measured; may be nil
	fitted   bool                        // whether --time is long enough has been checked
	told     bool                        // the notes about needed variants and about settings left to defaults have been printed
	print    func(*stats.Analysis) error // prints the results; if nil, they are printed as those of a run

	// keepsTime says that nothing is measured if a trial of each workload shows that --time is not
	// enough. called is what the error calls the run; "" for rounds of cases.
	keepsTime bool
	called    string
}

func (o *runOptions) check(ctx context.Context, env *environment) (*request, error) {
	r := &request{}
	o.computing = newProgress(env, o.quiet).Computing
	return r, inOrder(
		o.output.check,
		func() error { return o.checkSchedule(r) },
		func() error { return o.checkDrivers(ctx, r) },
		func() error { return o.checkPlaces(r) },
		func() error { return o.checkWorkloads(r) },
		func() error { return o.checkMatrix(r) },
		func() error { return o.checkHosts(r) },
	)
}

// inOrder calls steps until one returns an error, and returns that error.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// positive returns an error if d, the value of a flag, is 0 or negative. example is a valid value.
func positive(flag string, d time.Duration, example string) error {
	if d <= 0 {
		return usagef("%s %v: want a time above 0, such as %s", flag, d, example)
	}
	return nil
}

func (o *runOptions) checkTrialLimit() error { return positive("--trial-limit", o.trialLimit, "10m") }

func (o *runOptions) checkSchedule(r *request) error {
	o.exact = o.exact || o.flags.Changed("rounds")
	if o.exact && o.rounds < lab.MinRounds {
		return usagef("--rounds %d: at least %d, the fewest that give a 95%% interval", o.rounds, lab.MinRounds)
	}
	if o.rounds > lab.MaxRounds {
		return usagef("--rounds %d: at most %d", o.rounds, lab.MaxRounds)
	}
	err := cmp.Or(positive("--time", o.time, "5m"), o.checkTrialLimit())
	if err != nil {
		return err
	}
	r.schedule = lab.Schedule{Rounds: o.rounds, Time: o.time}
	if r.precision, err = o.shareOf("precision", o.precision); err != nil {
		return err
	}
	if r.margin, err = o.shareOf("margin", o.margin); err != nil {
		return err
	}
	r.matrix.Seed, err = seed(o.seed)
	return err
}

// seed returns the seed that the user gave or, if given is "", a random one. Random seeds are below
// 2⁵³, so that JSON readers that store numbers as doubles keep them exact.
func seed(given string) (uint64, error) {
	if given == "" {
		return rand.Uint64N(1 << 53), nil
	}
	n, err := strconv.ParseUint(given, 0, 64)
	if err != nil {
		return 0, usagef("--seed %s: want a number from 0 to %d", given, uint64(math.MaxUint64))
	}
	return n, nil
}

func (o *runOptions) checkDrivers(ctx context.Context, r *request) (err error) {
	if r.workshop, err = o.workers.workshop(); err != nil {
		return err
	}
	names := o.drivers
	if len(names) == 0 && o.flags.Changed("drivers") {
		return usagef("--drivers names none: want such as mattn,modernc, or leave it out")
	}
	if len(names) == 0 {
		names = r.usualDrivers()
	}
	if o.flags.Lookup("drivers") != nil { // --drivers was split at every comma; JoinRefs rejoins names that contain commas
		if names, err = build.JoinRefs(names, r.known); err != nil {
			return wrongUsage(err)
		}
	}
	r.matrix.Drivers, err = r.refs(ctx, names...)
	seen := map[string]bool{}
	for i, ref := range r.matrix.Drivers {
		if seen[ref.Name] {
			return usagef("driver %s is named twice", names[i])
		}
		seen[ref.Name] = true
	}
	return err
}

func (o *runOptions) checkWorkloads(r *request) error {
	names := o.workloads
	if len(names) == 0 && o.flags.Changed("workloads") {
		return usagef("--workloads names none: want such as simple,complex, or leave it out")
	}
	if len(names) == 0 {
		names = lab.DefaultWorkloads
		for _, name := range workload.Builtins() {
			if !slices.Contains(names, name) {
				r.leftOut = append(r.leftOut, result.LeftOut{Workload: name, Code: result.LeftOutTime})
			}
		}
	}
	seen := map[string]string{} // the argument that named each workload
	for _, name := range names {
		name = strings.TrimSpace(name)
		w, err := loadWorkload(r.dir, name, o.allowFiles)
		if err != nil {
			return err
		}
		if other, twice := seen[w.Name]; twice && filepath.Clean(other) != filepath.Clean(name) {
			if name == w.Name {
				name, other = other, name
			}
			return usagef("workloads %s and %s are both named %s: change name: in %s", other, name, w.Name, name)
		} else if twice {
			return usagef("workload %s is named twice", w.Name)
		}
		seen[w.Name] = name
		r.matrix.Workloads = append(r.matrix.Workloads, w)
	}
	return nil
}

func (o *runOptions) checkMatrix(r *request) error {
	r.matrix.Scale, r.matrix.Sides = o.scale, o.sided
	settings, err := o.dsnSettings()
	if err != nil {
		return wrongUsage(err)
	}
	r.matrix.Settings = map[string][]string{}
	for name, value := range settings {
		r.matrix.Settings[name] = []string{value}
	}
	err = eachList("--set", o.set, func(name, value string) error {
		v, err := driver.ParseSetting(name, value)
		if err != nil {
			return err
		}
		if s := (driver.Settings{name: v}); s.PoolSize() > plan.MaxClients {
			return fmt.Errorf("setting pool_size is %d: want at most %d", s.PoolSize(), plan.MaxClients)
		}
		if _, twice := settings[name]; twice {
			return fmt.Errorf("setting %s is given by --set and by --dsn: leave one out", name)
		}
		if !slices.Contains(r.matrix.Settings[name], v) {
			r.matrix.Settings[name] = append(r.matrix.Settings[name], v)
		}
		return nil
	})
	if err != nil {
		return wrongUsage(err)
	}
	if slices.Contains(r.matrix.Settings["mode"], "ro") {
		return usagef("setting mode=ro: a trial makes its own database, so it cannot open one for reading only: leave it out")
	}
	r.matrix.Parameters = map[string][]int64{}
	err = eachList("--param", o.param, func(name, value string) error {
		n, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 10, 64) // ParseInt does not accept 1_000, but workload files do
		if err != nil {
			return fmt.Errorf("bad value %q of parameter %s: want a whole number", value, name)
		}
		r.matrix.Parameters[name] = append(r.matrix.Parameters[name], n)
		return nil
	})
	if err != nil {
		return wrongUsage(err)
	}
	if name := workload.EventsParameter; o.flags.Changed(name) {
		if r.matrix.Parameters[name] != nil {
			return usagef("parameter %s is given by --%[1]s and by --param: leave one out", name)
		}
		r.matrix.Parameters[name] = []int64{o.events}
	}
	r.matrix.Computing = o.computing
	if r.cases, err = r.matrix.Cases(); err != nil {
		return wrongUsage(o.blame(err))
	}
	return nil
}

// blame adds to an error the flags that cause problems in a workload that is valid without them.
func (o *runOptions) blame(err error) error {
	var problems workload.Problems
	if !errors.As(err, &problems) {
		return err
	}
	var given []string
	for _, p := range o.param {
		given = append(given, "--param "+p)
	}
	if o.flags.Changed("scale") {
		given = append(given, "--scale "+o.scale)
	}
	if len(given) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(given, " "), err)
}

// dsnSettings parses the settings in --dsn. It returns an error if --dsn has no options, because
// its path is not used.
func (o *runOptions) dsnSettings() (driver.Settings, error) {
	settings, err := driver.ParseDSN(o.dsn)
	if err != nil || len(settings) > 0 || !o.flags.Changed("dsn") {
		return settings, err
	}
	if !strings.Contains(o.dsn, "=") {
		return nil, fmt.Errorf("--dsn %q has no options: want such as '?_journal=wal&_sync=1'", o.dsn)
	}
	if _, err := driver.ParseDSN("?" + o.dsn); err != nil {
		return nil, fmt.Errorf("--dsn %s: options begin with ?, and then: %w", o.dsn, err)
	}
	return nil, fmt.Errorf("--dsn %s: options begin with ?: want '?%[1]s'", o.dsn)
}

// eachList splits each entry "name=value,value..." of list, and calls each with every value.
func eachList(flag string, list []string, each func(name, value string) error) error {
	for _, entry := range list {
		name, values, ok := strings.Cut(entry, "=")
		if !ok || values == "" {
			return fmt.Errorf("%s %s: want name=value, or name=value,value for several", flag, entry)
		}
		for v := range strings.SplitSeq(values, ",") {
			if err := each(strings.TrimSpace(name), strings.TrimSpace(v)); err != nil {
				return fmt.Errorf("%s %s: %w", flag, entry, err)
			}
		}
	}
	return nil
}

func (o *runOptions) checkPlaces(r *request) (err error) {
	o.output.store = o.store
	if r.storePath, err = storePath(o.store); err != nil {
		return err
	}
	if dir := filepath.Dir(o.store); directory.Missing(dir) != nil {
		return noDirectory("--store "+o.store, dir)
	}
	if o.output.file != "" && sameFile(o.output.file, r.storePath) {
		return usagef("-o %s is the store, which is not written over: name another file", o.output.file)
	}
	if err := o.checkPage(r); err != nil {
		return err
	}
	dir := o.dir
	if o.hosts.asked() {
		dir = "" // --dir names a directory on the other machines
	}
	r.dir, err = databasesDirectory(dir)
	return err
}

func (o *runOptions) checkPage(r *request) error {
	if o.page.file == "" {
		return nil
	}
	o.page.format, o.page.flag, o.page.store = pageFormat, "--html "+o.page.file, o.store
	switch {
	case sameFile(o.page.file, r.storePath):
		return usagef("%s is the store, which is not written over: name another file", o.page.flag)
	case o.output.file != "" && sameFile(o.page.file, o.output.file):
		return usagef("%s and -o name the same file: name another one", o.page.flag)
	}
	return o.page.check()
}

// words formats settings or parameters as name=value, sorted by name.
func words[V any](m map[string]V) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, fmt.Sprintf("%s=%v", k, m[k]))
	}
	return strings.Join(list, " ")
}

// shareOf parses the value of one of the command's flags that is a share. It returns 0 if the command
// has no such flag.
func (o *runOptions) shareOf(name, value string) (float64, error) {
	if f := o.flags.Lookup(name); f == nil || f.Annotations[formerKey] != nil {
		return 0, nil
	}
	return share("--"+name, value)
}
