package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/explorer"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

type serveOptions struct {
	addr      string
	port      int
	drivers   []string
	workloads []string
	dir       string
	workers   cli.WorkerOptions
	store     string
}

func serveCommand(env *cli.Environment) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Explore the stored runs in a browser",
		Long: `Serve shows the runs of the store in a browser. You can find runs, choose drivers,
workloads, settings, phases and figures, see the samples and proven settings behind a
figure, compare two runs, and start, watch and stop a run.

The pages use a JSON API (docs/explorer.md) and load nothing from elsewhere. By default
only this machine can reach them, and anyone logged in to it can read them. To start and
stop runs, a browser needs the secret at the end of the address that serve prints.
Ctrl-C ends serve and, after its current trials, a run that was started in the browser.`,
		Example: `  sqlite3perf serve
  sqlite3perf serve --port 0 --store ./results.db
  sqlite3perf serve --drivers mattn,modernc,./my-worker --workloads read-write,./mine.yaml`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), env, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1", "`address` to listen on; everybody who can reach it can read the store")
	cli.Reaching(f, cli.Opens, "addr")
	f.IntVar(&o.port, "port", 8317, "`port` to listen on; 0: any free port")
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers that can be measured from the browser (default: all, in any version)")
	f.StringSliceVar(&o.workloads, "workloads", nil, "workloads that can be measured from the browser (default: the built-in ones)")
	cli.AddDirFlag(f, &o.dir)
	o.workers.AddFlags(f)
	cli.AddStoreFlag(f, &o.store)
	return cmd
}

// Time limits for receiving a request and sending its answer.
const (
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	writeTime  = 2 * time.Minute
	endTime    = 5 * time.Second // for unfinished answers when the server ends
)

func serve(ctx context.Context, env *cli.Environment, o *serveOptions) error {
	if o.port < 0 || o.port > 65535 {
		return cli.Usagef("--port %d: want a number from 0 to 65535", o.port)
	}
	ip, err := netip.ParseAddr(o.addr)
	if o.addr != "localhost" && (err != nil || ip.Zone() != "") {
		return cli.Usagef("--addr %q: want an IP address of this machine such as 127.0.0.1, or localhost", o.addr)
	}
	path, err := cli.StorePath(o.store)
	if err != nil {
		return err
	}
	launcher, err := o.launcher(ctx, path)
	if err != nil {
		return err
	}
	local := o.addr == "localhost" || ip.IsLoopback()
	if !local {
		launcher = nil // otherwise everybody who can reach the server could start runs on this machine
	}
	site := explorer.New(o.explored(path, launcher))
	none := site.Open(ctx)
	if none != nil && !errors.Is(none, store.ErrNoStore) {
		return none
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.addr, strconv.Itoa(o.port)))
	if err != nil {
		return errors.Join(cannotListen(o, err), site.Close())
	}
	if none != nil {
		env.Say("%v", none)
	}
	server := &http.Server{
		Handler:           site.Handler(),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: writeTime,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(env.Stderr, "", 0),
	}
	ctx, stop, release := env.Interruptible(ctx, env.Say, cli.StoppingTrials(site.Measuring))
	defer release()
	secret := ""
	if local {
		secret = "#token=" + site.Token()
	}
	fmt.Fprintf(env.Stdout, "http://%s/%s\n", listener.Addr(), secret)
	if local {
		fmt.Fprintln(env.Stderr, "everybody who has the complete address can start runs; without the part after #, everybody on this machine can only read")
	} else {
		fmt.Fprintf(env.Stderr, "everybody who can reach %s can read the store, so no run can be started there; without --addr only this machine can reach it\n", listener.Addr())
	}
	fmt.Fprintf(env.Stderr, "serving %s; Ctrl-C ends\n", path)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-stop:
		site.StopRun(ctx)
		end, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		err = site.Close()
		if server.Shutdown(end) != nil { // an answer takes longer than endTime
			server.Close()
		}
	}
	return err
}

// explored returns the options of the explorer for the store at path.
func (o *serveOptions) explored(path string, launcher *explorer.Launcher) explorer.Options {
	hostname, _ := os.Hostname()
	users := func(m result.Machine) (n int, known bool) {
		if m.Hostname != hostname || !filepath.IsAbs(m.Directory) {
			return 0, false
		}
		return process.Users(m.Directory, cli.RunDirectory), true
	}
	return explorer.Options{Store: path, Users: users, Floor: lab.Floor, Launcher: launcher, Describe: described, Answer: func(ctx context.Context, w io.Writer, format string, a *stats.Analysis, opts document.Options) error {
		q := stored[a.Run.Answer.Question]
		_, write, err := q.read(&cli.OutputOptions{Store: o.store}, a, cli.Analyzed(ctx, o.store))
		if err != nil {
			return err
		}
		opts.Source = conditions.PageSource(a.Run)
		return write(w, format, opts)
	}}
}

func cannotListen(o *serveOptions, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return cli.Usagef("--port %d is in use: name another, or 0 for any that is free", o.port)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return cli.Usagef("--addr %s --port %d: cannot listen there: %w", o.addr, o.port, err)
}

func (o *serveOptions) launcher(ctx context.Context, storePath string) (*explorer.Launcher, error) {
	l := &explorer.Launcher{}
	shop, err := o.workers.Workshop()
	if err != nil {
		return nil, err
	}
	if _, err := cli.DatabasesDirectory(o.dir); err != nil {
		return nil, err
	}
	if directory.Missing(filepath.Dir(o.store)) != nil {
		return nil, cli.NoDirectory("--store "+o.store, filepath.Dir(o.store))
	}
	about := map[string]build.Known{}
	for _, k := range shop.Known {
		about[k.Name] = k
		if o.drivers == nil {
			l.Drivers = append(l.Drivers, driverChoice(k.Name, k, !k.Optional))
		}
	}
	names, err := build.JoinRefs(o.drivers, shop.Known)
	if err != nil {
		return nil, cli.WrongUsage(err)
	}
	if _, err := shop.Refs(ctx, names...); err != nil {
		return nil, err
	}
	for _, name := range names {
		k := about[result.BaseDriver(name)]
		l.Drivers = append(l.Drivers, driverChoice(name, k, true))
	}
	files := o.workloads
	if files == nil {
		files = workload.Builtins()
	}
	for _, name := range files {
		w, err := readWorkload(name, false)
		if err != nil {
			return nil, err
		}
		c := explorer.Choice{Name: name, About: w.About, Usual: o.workloads != nil || slices.Contains(lab.DefaultWorkloads, name)}
		for _, p := range w.Parameters {
			if len(p.Values) == 0 {
				continue // this parameter needs no value
			}
			quick, ok := w.Quick[p.Name]
			if !ok {
				quick = p.Values
			}
			c.Parameters = append(c.Parameters, explorer.Parameter{Name: p.Name, Quick: quick, Full: p.Values})
		}
		l.Workloads = append(l.Workloads, c)
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l.Command = func(w *explorer.Wanted) *exec.Cmd {
		cmd := exec.Command(executable, o.arguments(l, w, storePath)...)
		cmd.Args[0] = os.Args[0]
		cmd.Env = append(os.Environ(), cli.OwnedVariable+"=1")
		cli.OwnGroup(cmd)
		return cmd
	}
	return l, nil
}

// driverChoice returns a driver as the page shows it for selection.
func driverChoice(name string, k build.Known, usual bool) explorer.Choice {
	c := explorer.Choice{Name: name, About: k.About, Usual: usual}
	if name == k.Name && k.Version != "" {
		c.Versions, c.Known = true, []string{k.Version}
	}
	return c
}

// arguments returns the arguments of the command "run" for what the user chose in the page. Each
// value is in the same argument as its flag (--flag=value), so that no value can be mistaken for a
// flag.
func (o *serveOptions) arguments(l *explorer.Launcher, w *explorer.Wanted, storePath string) []string {
	usual := func(chosen []string, all []explorer.Choice) string {
		if len(chosen) == 0 {
			for _, c := range all {
				if c.Usual {
					chosen = append(chosen, c.Name)
				}
			}
		}
		return strings.Join(chosen, ",")
	}
	args := []string{"run", "--drivers=" + usual(w.Drivers, l.Drivers), "--workloads=" + usual(w.Workloads, l.Workloads)}
	for _, name := range slices.Sorted(maps.Keys(w.Settings)) {
		args = append(args, "--set="+name+"="+strings.Join(w.Settings[name], ","))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Parameters)) {
		args = append(args, "--param="+name+"="+document.Join(w.Parameters[name], ",", func(n int64) string { return strconv.FormatInt(n, 10) }))
	}
	if w.Scale != "" {
		args = append(args, "--scale="+w.Scale)
	}
	if w.Rounds > 0 {
		args = append(args, fmt.Sprintf("--rounds=%d", w.Rounds))
	}
	if w.Time > 0 {
		args = append(args, fmt.Sprintf("--time=%ds", w.Time))
	}
	for _, f := range []struct{ name, value string }{{"dir", o.dir}, {"source", o.workers.Source}, {"worker-cache", o.workers.Cache}, {"store", storePath}} {
		if f.value != "" {
			args = append(args, "--"+f.name+"="+f.value)
		}
	}
	return args
}
