package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// runOptions are the flags of the command run, as the user typed them. Other commands that measure
// also have most of these flags.
type runOptions struct {
	flags        *pflag.FlagSet // flags of the command
	drivers      []string
	sided        bool // the drivers are the two sides of a comparison
	workloads    []string
	allowFiles   bool
	events       int64
	set          []string
	dsn          string
	param        []string
	scale        string
	rounds       int
	exact        bool // the user gave --rounds
	time         time.Duration
	precision    string // the figures of a case are precise enough if their intervals are within this percentage of the figure, such as "5%"
	margin       string // commands that compare ignore differences up to this percentage, such as "2%"
	seed         string
	dir          string
	trialLimit   time.Duration
	workers      cli.WorkerOptions
	hosts        hostOptions
	output       cli.OutputOptions
	page         cli.OutputOptions // a page to write in addition to the field "output"; none if page.File is ""
	quiet        bool
	hooks        result.Hooks                             // commands to run around each trial
	saveBaseline string                                   // name under which the run is stored as a baseline
	computing    func(workload string, done, total int64) // called while expected answers are computed, as in [lab.Matrix]
}

func (o *runOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to measure: mattn, mattn@v1.14.22, mattn:tags=sqlite_fts5,GOGC=400, mattn=../go-sqlite3, ./my-worker (default: all that are not optional)")
	cli.Reaching(f, cli.Executes, "drivers")
	cli.Grouped(f, cli.GroupWhat, "drivers")
	o.addWorkFlags(f)
	o.addFigureFlags(f)
	o.addPlaceFlags(f)
	o.hosts.addFlags(f)
	o.output.AddFullFlag(f)
	o.addPageFlag(f)
}

func (o *runOptions) addWorkFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringSliceVar(&o.workloads, "workloads", nil, "built-in workloads or YAML files (default: "+strings.Join(lab.DefaultWorkloads, ", ")+")")
	cli.AddAllowFilesFlag(f, &o.allowFiles)
	f.StringArrayVar(&o.set, "set", nil, "setting for all workloads, with one or more values: `name=value,...`; all combinations are measured (repeatable); sqlite3perf workloads --language lists the settings")
	f.StringVar(&o.dsn, "dsn", "", "settings as in mattn's or modernc's data source names: '?_journal=wal&_sync=1'; a path is not opened")
	f.StringArrayVar(&o.param, "param", nil, "parameter of the workloads that have it, with one or more values: `name=value,...`; all combinations are measured (repeatable)")
	f.Int64Var(&o.events, workload.EventsParameter, 0, "replay only the beginning of each recording: at least this `number` of events, in complete transactions (default: all)")
	cli.Grouped(f, cli.GroupWhat, "workloads", "allow-files", "set", "dsn", "param", workload.EventsParameter)
}

func (o *runOptions) addFigureFlags(f *pflag.FlagSet) {
	o.addScheduleFlags(f)
	f.StringVar(&o.precision, "precision", "5%", "stop measuring a case (a driver with a workload and settings) when its ratios are known within this `share`")
	cli.Grouped(f, cli.GroupLong, "precision")
}

// addMarginFlag adds --margin, and its former name --precision. The parameter "usage" says what the value
// of --margin means for the command.
func (o *runOptions) addMarginFlag(f *pflag.FlagSet, value, usage string) {
	f.StringVar(&o.margin, "margin", value, usage)
	cli.Grouped(f, cli.GroupLong, "margin")
	cli.Renamed(f, "precision", "margin")
}

// untilSettled lets the run end as soon as no case needs further trials, unless the user gave --rounds.
func (o *runOptions) untilSettled(r *request) {
	if !o.exact {
		r.schedule.Settled = stats.UntilSettled(lab.Floor, r.precision)
	}
}

// addScheduleFlags adds the flags that say how much work is measured and how often.
func (o *runOptions) addScheduleFlags(f *pflag.FlagSet) {
	o.flags = f
	o.addScaleFlag(f)
	f.IntVar(&o.rounds, "rounds", 0, "exactly this many rounds, at least 6 (default: until all cases are as precise as --precision says, or --time is over)")
	o.addTimeFlag(f, 5*time.Minute, "do not begin a round that would end after this time. At least six rounds run; if six are known to take longer, nothing is measured")
	o.addSeedFlag(f)
	cli.Grouped(f, cli.GroupLong, "rounds")
}

func (o *runOptions) addScaleFlag(f *pflag.FlagSet) {
	f.StringVar(&o.scale, "scale", "quick", "how much work: quick, full, or a `factor` of full such as 0.1 (quick is mostly 0.02 to 0.05)")
	cli.Grouped(f, cli.GroupLong, "scale")
}

func (o *runOptions) addTimeFlag(f *pflag.FlagSet, value time.Duration, usage string) {
	f.DurationVar(&o.time, "time", value, usage)
	cli.Grouped(f, cli.GroupLong, "time")
}

func (o *runOptions) addSeedFlag(f *pflag.FlagSet) {
	f.StringVar(&o.seed, "seed", "", "`number` below 2⁵³ from which all values and the order of trials are made (default: random, and reported)")
	cli.Grouped(f, cli.GroupWhat, "seed")
}

func (o *runOptions) addPlaceFlags(f *pflag.FlagSet) {
	cli.AddDirFlag(f, &o.dir)
	f.DurationVar(&o.trialLimit, "trial-limit", 10*time.Minute, "a trial that takes longer fails")
	cli.Grouped(f, cli.GroupLong, "trial-limit")
	o.workers.AddFlags(f)
	cli.AddQuietFlag(f, &o.quiet)
	cli.AddStoreFlag(f, &o.output.Store)
	o.output.AddFlags(f)
}

// addHookFlags adds the flags that name commands to run around each trial.
func (o *runOptions) addHookFlags(f *pflag.FlagSet) {
	f.StringVar(&o.hooks.Prepare, "prepare", "", "run this shell `command` before each trial, untimed; the variables SQLITE3PERF_DIR, _DATABASE, _DRIVER, _WORKLOAD and _ROUND describe the trial")
	f.StringVar(&o.hooks.Cleanup, "cleanup", "", "run this shell `command` after each trial; if it fails, the trial has failed")
	cli.Reaching(f, cli.Executes, "prepare", "cleanup")
	cli.Grouped(f, cli.GroupWhat, "prepare", "cleanup")
}

func (o *runOptions) addPageFlag(f *pflag.FlagSet) {
	f.StringVar(&o.page.File, "html", "", "`file` for a page with pictures, in addition to the printed result")
	cli.Reaching(f, cli.Writes, "html")
	cli.Grouped(f, cli.GroupOutput, "html")
}

// metricNames are the names of the metrics by which sides can be compared.
var metricNames = document.Map(stats.Metrics, func(m stats.Metric) string { return string(m) })

// parseMetric checks the name of a metric.
func parseMetric(flag, name string) (stats.Metric, error) {
	if !slices.Contains(metricNames, name) {
		return "", cli.Usagef("%s %s: unknown metric: %s", flag, name, driver.Suggest(name, metricNames))
	}
	return stats.Metric(name), nil
}

// count turns on the setting [result.CountSyncs] if one of the metrics is counted only with it. If the
// user has given this setting a value, count does nothing.
func (o *runOptions) count(metrics ...stats.Metric) {
	asked := slices.ContainsFunc(metrics, func(m stats.Metric) bool { return m.Cost() != nil && m.Cost().Asked })
	if asked && !slices.ContainsFunc(o.set, func(s string) bool { return strings.HasPrefix(s, result.CountSyncs+"=") }) {
		o.set = append(o.set, result.CountSyncs+"=on")
	}
}

// request is what the user asks for with runOptions, after all flags have been checked. Nothing has
// been created yet.
type request struct {
	matrix    lab.Matrix
	cases     []*lab.Case
	schedule  lab.Schedule
	precision float64 // from --precision; 0 if the run does not go on until figures are precise
	margin    float64 // from --margin or --max-regression
	cli.Workshop
	leftOut   []result.LeftOut
	study     *result.Study // the study that the run reproduces; nil if it reproduces none
	compares  *result.Compares
	search    *result.Search
	baseline  string               // name under which the run is stored as a baseline; "" if none
	resumed   *result.Run          // the stored run to resume; nil if a new run is measured
	retyped   map[string]build.Ref // those drivers of the resumed run that the user had to type again, by name
	ahead     string               // message to print before the run begins; "" for none
	least     time.Duration        // least time of the run, if known beforehand
	dir       string
	host      *result.Host // the host to measure on; nil for this machine
	storePath string

	// tried, if not nil, is called before any worker is built. If it returns an error, nothing is
	// measured.
	tried    func(context.Context, *lab.Processes, lab.Building) error
	prepared func([]*lab.Case) error     // called after workers are built; if it returns an error, nothing is measured; may be nil
	fitted   bool                        // true if it has been checked whether --time is long enough
	await    *cli.Await                  // what the user waits for while workers are built; nil means: the first trial
	took     *split                      // counts where the command's time goes; nil if that is not printed
	first    string                      // sentence that says where the first answer is stored; "" if there is no first answer
	told     bool                        // the notes about needed variants and about settings left to defaults have been printed
	print    func(*stats.Analysis) error // prints the results; if nil, the report of a run is printed

	// keepsTime makes the run begin with a trial of each workload. If these trials show that --time is not
	// enough, nothing else is measured. The error then describes the run by the text in the field "called"
	// or, if this field is "", by the numbers of rounds and cases.
	keepsTime bool
	called    string
}

func (o *runOptions) check(ctx context.Context, env *cli.Environment) (*request, error) {
	r := &request{}
	o.computing = cli.NewProgress(env, o.quiet).Computing
	return r, cli.InOrder(
		o.output.Check,
		func() error { return o.checkSchedule(r) },
		func() error { return o.checkDrivers(ctx, r) },
		func() error { return o.checkPlaces(r) },
		func() error { return o.checkWorkloads(r) },
		func() error { return o.checkMatrix(r) },
		func() error { return o.checkHosts(r) },
	)
}

func (o *runOptions) checkTrialLimit() error {
	return cli.Positive("--trial-limit", o.trialLimit, "10m")
}

func (o *runOptions) checkSchedule(r *request) error {
	o.exact = o.exact || o.flags.Changed("rounds")
	if o.exact && o.rounds < lab.MinRounds {
		return cli.Usagef("--rounds %d: at least %d, the fewest that give a 95%% interval", o.rounds, lab.MinRounds)
	}
	if o.rounds > lab.MaxRounds {
		return cli.Usagef("--rounds %d: at most %d", o.rounds, lab.MaxRounds)
	}
	err := cmp.Or(cli.Positive("--time", o.time, "5m"), o.checkTrialLimit())
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
	r.matrix.Seed, err = cli.Seed(o.seed)
	return err
}

func (o *runOptions) checkDrivers(ctx context.Context, r *request) (err error) {
	if r.Workshop, err = o.workers.Workshop(); err != nil {
		return err
	}
	var names []string
	names, r.matrix.Drivers, err = o.chosenDrivers(ctx, r.Workshop, func(build.Known) bool { return true })
	seen := map[string]bool{}
	for i, ref := range r.matrix.Drivers {
		if seen[ref.Name] {
			return cli.Usagef("driver %s is named twice", names[i])
		}
		seen[ref.Name] = true
	}
	return err
}

// chosenDrivers finds the drivers that the user named. If the user named none, it finds the drivers that are
// not optional and for which the function "usual" returns true.
func (o *runOptions) chosenDrivers(ctx context.Context, s cli.Workshop, usual func(build.Known) bool) (names []string, refs []build.Ref, err error) {
	names = o.drivers
	if len(names) == 0 && o.flags.Changed("drivers") {
		return nil, nil, cli.Usagef("--drivers names none: want such as mattn,modernc, or leave it out")
	}
	if len(names) == 0 {
		for _, k := range s.Known {
			if !k.Optional && usual(k) {
				names = append(names, k.Name)
			}
		}
	}
	if o.flags.Lookup("drivers") != nil { // --drivers was split at every comma; JoinRefs rejoins names that contain commas
		if names, err = build.JoinRefs(names, s.Known); err != nil {
			return nil, nil, cli.WrongUsage(err)
		}
	}
	refs, err = s.Refs(ctx, names...)
	return names, refs, err
}

func (o *runOptions) checkWorkloads(r *request) error {
	names := o.workloads
	if len(names) == 0 && o.flags.Changed("workloads") {
		return cli.Usagef("--workloads names none: want such as simple,complex, or leave it out")
	}
	if len(names) == 0 {
		names = lab.DefaultWorkloads
		for _, name := range workload.Builtins() {
			if !slices.Contains(names, name) {
				r.leftOut = append(r.leftOut, result.LeftOut{Workload: name, Code: result.LeftOutTime})
			}
		}
	}
	seen := map[string]string{} // maps the name of each workload to the argument that named the workload
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
			return cli.Usagef("workloads %s and %s are both named %s: change name: in %s", other, name, w.Name, name)
		} else if twice {
			return cli.Usagef("workload %s is named twice", w.Name)
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
		return cli.WrongUsage(err)
	}
	r.matrix.Settings = map[string][]string{}
	for name, value := range settings {
		r.matrix.Settings[name] = []string{value}
	}
	err = cli.EachList("--set", o.set, func(name, value string) error {
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
		r.matrix.Settings[name] = distinct.Append(r.matrix.Settings[name], v)
		return nil
	})
	if err != nil {
		return cli.WrongUsage(err)
	}
	if slices.Contains(r.matrix.Settings["mode"], "ro") {
		return cli.Usagef("setting mode=ro: a trial makes its own database, so it cannot open one for reading only: leave it out")
	}
	r.matrix.Parameters = map[string][]int64{}
	err = cli.EachList("--param", o.param, func(name, value string) error {
		n, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 10, 64) // ParseInt does not accept 1_000, but workload files do
		if err != nil {
			return fmt.Errorf("bad value %q of parameter %s: want a whole number", value, name)
		}
		r.matrix.Parameters[name] = append(r.matrix.Parameters[name], n)
		return nil
	})
	if err != nil {
		return cli.WrongUsage(err)
	}
	if name := workload.EventsParameter; o.flags.Changed(name) {
		if r.matrix.Parameters[name] != nil {
			return cli.Usagef("parameter %s is given by --%[1]s and by --param: leave one out", name)
		}
		r.matrix.Parameters[name] = []int64{o.events}
	}
	r.matrix.Computing = o.computing
	r.cases, err = r.matrix.Cases()
	return cli.WrongUsage(o.blame(err))
}

// blame adds the typed --param and --scale to an error about problems of a workload. The workload is valid
// without these flags, so the flags cause the problems. blame returns any other error unchanged.
func (o *runOptions) blame(err error) error {
	var problems workload.Problems
	if !errors.As(err, &problems) {
		return err
	}
	given := document.Map(o.param, func(p string) string { return "--param " + p })
	if o.flags.Changed("scale") {
		given = append(given, "--scale "+o.scale)
	}
	if len(given) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(given, " "), err)
}

// dsnSettings parses the settings in --dsn. It returns an error if --dsn has no options, because
// only the options are used, not the path.
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

func (o *runOptions) checkPlaces(r *request) (err error) {
	if r.storePath, err = cli.StorePath(o.output.Store); err != nil {
		return err
	}
	if dir := filepath.Dir(o.output.Store); directory.Missing(dir) != nil {
		return cli.NoDirectory("--store "+o.output.Store, dir)
	}
	if flag := o.output.Writes(r.storePath); flag != "" {
		return cli.Usagef("%s is the store, which is not written over: name another file", flag)
	}
	if err := o.checkPage(r); err != nil {
		return err
	}
	dir := o.dir
	if o.hosts.asked() {
		dir = "" // --dir names a directory on the other machines
	}
	r.dir, err = cli.DatabasesDirectory(dir)
	return err
}

func (o *runOptions) checkPage(r *request) error {
	if o.page.File == "" {
		return nil
	}
	o.page.Format, o.page.Flag, o.page.Store = pageFormat, "--html "+o.page.File, o.output.Store
	switch {
	case cli.SameFile(o.page.File, r.storePath):
		return cli.Usagef("%s is the store, which is not written over: name another file", o.page.Flag)
	case o.output.Writes(o.page.File) != "":
		return cli.Usagef("%s and -o name the same file: name another one", o.page.Flag)
	}
	return o.page.Check()
}

// shareOf parses the value of the flag with the given name. The value is a fraction. shareOf returns 0
// if the command has no such flag, or has it only as the former name of another flag.
func (o *runOptions) shareOf(name, value string) (float64, error) {
	if f := o.flags.Lookup(name); f == nil || f.Annotations[cli.FormerKey] != nil {
		return 0, nil
	}
	return cli.Share("--"+name, value)
}
