package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// location is where a request is measured: this machine or another one.
type location struct {
	machine  result.Machine
	executor lab.Executor
	noise    lab.Noise

	// prepare finds or builds the workers of cases. After that, "needs" asks these workers whether
	// they have the features that the workloads need.
	prepare func(ctx context.Context, cases []*lab.Case, progress lab.Building) error
	needs   func(ctx context.Context, cases []*lab.Case) error

	processes *lab.Processes // runs workers on this machine; nil on another machine
	remove    func()         // removes the temporary files of the run
}

const featuresHint = "sqlite3perf drivers --features shows which driver has what"

const elsewhereHint = "or name another directory with --dir"

// newLocation prepares the machine on which a request is measured: this machine or, if r.host is set,
// another machine.
func newLocation(ctx context.Context, env *cli.Environment, o *runOptions, r *request, show *cli.Progress) (*location, error) {
	if r.host != nil {
		return remoteLocation(ctx, o, r, show)
	}
	scratch, observer, err := cli.Observed(r.dir)
	if err != nil {
		return nil, err
	}
	about := observer.Machine
	about.Directory = r.dir // not scratch.Dir, which no longer exists when users read this
	observer.Calibrate = env.Calibrate
	processes := &lab.Processes{Dir: scratch.Dir, Limit: o.trialLimit, Hint: featuresHint, Elsewhere: elsewhereHint, CPUTime: env.CPUTime}
	var noise lab.Noise = observer
	if o.hooks != (result.Hooks{}) {
		processes.Hooks = &lab.Hooks{Hooks: o.hooks}
		noise = processes.Hooks.InRounds(observer)
	}
	return &location{
		machine: about, executor: processes, noise: noise, processes: processes, remove: scratch.Remove,
		prepare: func(ctx context.Context, cases []*lab.Case, progress lab.Building) error {
			return lab.Prepare(ctx, cases, r.Builder, progress)
		},
		needs: processes.CheckNeeds,
	}, nil
}

func remoteLocation(ctx context.Context, o *runOptions, r *request, show *cli.Progress) (*location, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m, err := host.Connect(ctx, r.host.Name, &host.Options{
		SSH: strings.Fields(o.hosts.ssh), Version: cli.Version(), Executable: executable, Say: show.Note,
		Build: func(ctx context.Context, goos, goarch string) (string, func(), error) {
			return buildFor(ctx, r.Builder.Source, goos, goarch)
		},
	})
	if err != nil {
		return nil, cli.Incomplete(o.hosts.other.Wait(ctx, err, ""))
	}
	var about result.Machine
	if r.resumed != nil {
		err = notInUse(ctx, m, r.resumed, o.dir)
	}
	if err == nil {
		about, err = m.Open(ctx, host.Place{Dir: o.dir, Limit: o.trialLimit, Hint: featuresHint, Elsewhere: elsewhereHint})
		err = cli.Incomplete(err)
	}
	if err := o.hosts.other.Wait(ctx, err, m.Boot()); err != nil {
		m.Close()
		return nil, err
	}
	return &location{
		machine: about, executor: m, noise: o.hosts.other.Noise(m, show.Say), remove: m.Close,
		prepare: func(ctx context.Context, cases []*lab.Case, progress lab.Building) error {
			return ofHost(m.Prepare(ctx, cases, r.Builder, progress))
		},
		needs: func(ctx context.Context, cases []*lab.Case) error { return ofHost(m.CheckNeeds(ctx, cases)) },
	}, nil
}

// ofHost returns err with the exit status of a run that measured nothing, if err is an error of another
// machine. It returns any other error unchanged.
func ofHost(err error) error {
	if _, ok := errors.AsType[*host.Error](err); ok {
		return cli.Incomplete(err)
	}
	return err
}

// notInUse returns an error if the parameter "run", or another run in the same directory, is still being
// measured on machine m.
func notInUse(ctx context.Context, m *host.Machine, run *result.Run, dir string) error {
	used, err := m.InUse(ctx, dir)
	switch {
	case err != nil:
		return cli.Incomplete(err)
	case used:
		return cli.Usagef("run %d: something is being measured in %s on %s: wait until that has ended (if its connection was lost, that takes up to %v)",
			run.ID, document.Line(run.Machine.Directory), document.Line(run.Host.Name), host.Silence)
	}
	return nil
}

type hostOptions struct {
	names []string
	ssh   string
	other *machines.Arrival // lets this host wait for the other hosts; nil if only one host is measured
}

func (o *hostOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.names, "hosts", nil, "other machines to measure on, named as for ssh: pi,user@nvme; each measures the same plan with the same seed, and --dir is a directory there")
	f.StringVar(&o.ssh, "ssh", "ssh", "the SSH `client` for --hosts, with its options, such as 'ssh -F file'")
	cli.Reaching(f, cli.Executes, "hosts", "ssh")
	cli.Grouped(f, cli.GroupWhere, "hosts", "ssh")
}

func (o *hostOptions) asked() bool { return len(o.names) > 0 }

// checkHosts returns an error if the name of a host is not valid, or if hosts cannot do what is requested.
// If exactly one host is named, it sets r.host.
func (o *runOptions) checkHosts(r *request) error {
	if f := o.flags.Lookup("hosts"); f == nil || !o.hosts.asked() {
		if f != nil && f.Changed {
			return cli.Usagef("--hosts names none: want names as for ssh, such as pi,user@nvme, or leave it out")
		}
		return nil
	}
	if o.hooks != (result.Hooks{}) {
		return cli.Usagef("--prepare and --cleanup run commands on this machine: leave out --hosts")
	}
	var err error
	if o.hosts.names, err = host.Parse(o.hosts.names); err != nil {
		return cli.Usagef("--hosts: %w", err)
	}
	client := strings.Fields(o.hosts.ssh)
	if len(client) == 0 {
		return cli.Usagef("--ssh names no client: want such as ssh, or leave it out")
	}
	if _, err := exec.LookPath(client[0]); err != nil {
		return cli.Usagef("--hosts: there is no %s here: install the OpenSSH client (Debian: apt-get install openssh-client), or name yours with --ssh", client[0])
	}
	if err := host.Check(r.cases); err != nil {
		return cli.Usagef("--hosts: %w", err)
	}
	if len(o.hosts.names) == 1 {
		r.host = &result.Host{Name: o.hosts.names[0]}
		return nil
	}
	for _, to := range o.output.Each() {
		if err := machines.Formats.Check(to.Format); err != nil {
			return cli.Usagef("--format %s shows one run, but each of several hosts has its own run: want %s here, or show RUN --format %[1]s", to.Format, strings.Join(machines.Formats.Names(), ", "))
		}
	}
	if o.page.File != "" {
		return cli.Usagef("%s writes the page of one run, but each of several hosts has its own run: report RUN writes the page of each", o.page.Flag)
	}
	return nil
}

// buildFor builds this command for another platform. The function "remove" deletes the executable at path.
// If the parameter "source" is not a clone with the command's sources, buildFor returns "" and nil.
func buildFor(ctx context.Context, source build.Source, goos, goarch string) (path string, remove func(), err error) {
	if !cli.IsDirectory(filepath.Join(source.Root, "cmd", "sqlite3perf")) {
		return "", nil, nil
	}
	scratch, err := process.NewTemporary()
	if err != nil {
		return "", nil, err
	}
	b := &build.Builder{Source: source, Target: goos + "/" + goarch}
	if path, err = b.Command(ctx, scratch.Dir); err != nil {
		scratch.Remove()
		return "", nil, err
	}
	return path, scratch.Remove, nil
}

// hostAgentCommand is the command that --hosts starts on other machines. It is not for users.
func hostAgentCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     host.AgentCommand,
		Short:   "Measure here what a sqlite3perf on another machine asks for",
		Long:    "Host-agent is what run --hosts starts on other machines. It answers requests on standard\ninput until there are no more.",
		Example: "  sqlite3perf " + host.AgentCommand,
		Hidden:  true,
		Args:    cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.OutliveReaders() // after a lost connection, the command must first remove what it created
			agent := &host.Agent{Version: cli.Version(), DirectoryPrefix: cli.RunDirectory}
			return agent.Serve(cli.Until(cmd.Context(), env.Catch()), os.Stdin, env.RawOut)
		},
	}
}
