package worker

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// buildFlags are the build settings that a [protocol.Proof] lists.
var buildFlags = []string{"-tags", "CGO_CFLAGS", "GOAMD64", "GOARM64", "GOEXPERIMENT"}

// linked returns the part of a proof that needs no database: the version of the given module in
// this executable, the build settings, and the effect of environment variables.
func linked(module string, environment []string) protocol.Proof {
	p := protocol.Proof{Module: module, Environment: inEnvironment(environment)}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	p.Runtime = bi.GoVersion
	for _, m := range bi.Deps {
		if m.Path != module {
			continue
		}
		p.ModuleVersion = m.Version
		if r := m.Replace; r != nil {
			p.ModuleVersion = r.Version
			if filepath.IsAbs(r.Path) { // the module was replaced by a local directory, which has no version
				p.ModuleVersion = r.Path
			}
		}
	}
	p.Build = map[string]string{}
	for _, s := range bi.Settings {
		if s.Value != "" && slices.Contains(buildFlags, s.Key) {
			p.Build[s.Key] = s.Value
		}
	}
	return p
}

// inEnvironment returns the values of environment variables. For variables of Go's runtime it
// returns the value that the runtime uses, because a program may override the variable.
func inEnvironment(names []string) map[string]string {
	found := map[string]string{}
	for _, name := range names {
		switch name {
		case "GOGC":
			found[name] = "off"
			if n := metric("/gc/gogc:percent"); n <= math.MaxInt32 {
				found[name] = strconv.FormatUint(n, 10)
			}
		case "GOMEMLIMIT":
			found[name] = "off"
			if n := metric("/gc/gomemlimit:bytes"); n < math.MaxInt64 {
				found[name] = strconv.FormatUint(n, 10)
			}
		case "GOMAXPROCS":
			found[name] = strconv.FormatUint(metric("/sched/gomaxprocs:threads"), 10)
		default:
			if v, ok := os.LookupEnv(name); ok {
				found[name] = v
			}
		}
	}
	return found
}

// metric returns a metric of Go's runtime. The metric must be of type uint64.
func metric(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
