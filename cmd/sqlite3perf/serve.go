package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/store"
	"github.com/sqlite3perf/sqlite3perf/study"
	"github.com/sqlite3perf/sqlite3perf/web"
)

// serveOptions are the flags of serve as typed.
type serveOptions struct {
	addr  string
	port  int
	store string
}

func serveCommand(env *environment) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Explore the stored runs in a browser",
		Long: `Serve shows the runs of the store in a browser: find and open them, choose drivers,
workloads, settings, phases and figures, see the samples and proven settings behind
a figure, and compare two runs. An address shows the same view again.

The pages use a JSON API, which docs/explorer.md describes. By default only this
machine can reach them; whoever can log in to it can. Nothing is loaded from
elsewhere. Ctrl-C ends serve.`,
		Example: `  sqlite3perf serve
  sqlite3perf serve --port 0 --store ./results.db`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), env, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.addr, "addr", "127.0.0.1", "`address` to listen on: an IP address of this machine, or localhost; everybody who can reach it can read the store")
	f.IntVar(&o.port, "port", 8317, "`port` to listen on; 0: any that is free")
	addStoreFlag(f, &o.store)
	return cmd
}

// The longest that a request may take to arrive, and its answer to leave.
const (
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	writeTime  = 2 * time.Minute
	endTime    = 5 * time.Second // for the answers that are under way when serve ends
)

func serve(ctx context.Context, env *environment, o *serveOptions) error {
	if o.port < 0 || o.port > 65535 {
		return usagef("--port %d: want a number from 0 to 65535", o.port)
	}
	if ip, err := netip.ParseAddr(o.addr); o.addr != "localhost" && (err != nil || ip.Zone() != "") {
		return usagef("--addr %q: want an IP address of this machine such as 127.0.0.1, or localhost", o.addr)
	}
	path, err := storePath(o.store)
	if err != nil {
		return err
	}
	st, none := store.OpenReadOnly(ctx, path)
	if none == nil {
		st.Close()
	} else if !errors.Is(none, store.ErrNoStore) {
		return none
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.addr, strconv.Itoa(o.port)))
	if err != nil {
		return cannotListen(o, err)
	}
	if none != nil {
		fmt.Fprintf(env.stderr, "%v\n", none)
	}
	site := web.New(web.Options{Store: path, Floor: floorDriver, Describe: func(a *stats.Analysis) report.Options {
		return report.Options{Study: study.Evaluate(a, "--scale full")}
	}})
	server := &http.Server{
		Handler:           site.Handler(),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: writeTime,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(env.stderr, "", 0),
	}
	ctx, stop, release := env.interruptible(ctx, func(format string, args ...any) { fmt.Fprintf(env.stderr, format+"\n", args...) }, stopping)
	defer release()
	fmt.Fprintf(env.stdout, "http://%s/\n", listener.Addr())
	if ip := listener.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		fmt.Fprintf(env.stderr, "everybody who can reach %s can read the store; without --addr only this machine can\n", listener.Addr())
	}
	fmt.Fprintf(env.stderr, "serving %s; Ctrl-C ends\n", path)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-stop:
		end, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		err = site.Close()
		if server.Shutdown(end) != nil { // an answer takes too long
			server.Close()
		}
	}
	return err
}

// cannotListen says what to type instead.
func cannotListen(o *serveOptions, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return usagef("--port %d is in use: name another, or 0 for any that is free", o.port)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return usagef("--addr %s --port %d: cannot listen there: %w", o.addr, o.port, err)
}
