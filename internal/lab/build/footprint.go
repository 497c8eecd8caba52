package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// FootprintOptions selects the parts of a [result.Footprint] that take long to measure.
type FootprintOptions struct {
	Cold    bool     // also time a build with an empty build cache
	Targets []string // also build for these platforms (GOOS/GOARCH), without a C compiler
}

// Platforms lists the platforms that the go command can build for, as GOOS/GOARCH.
func (b *Builder) Platforms(ctx context.Context) ([]string, error) {
	out, said, err := b.lookup(ctx, filepath.Join(b.Source.Root, "worker"), "tool", "dist", "list")
	if err != nil {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("go tool dist list: %s", FirstComplaint(said, err)))
	}
	return strings.Fields(string(out)), nil
}

// footprintSuffix is appended to a worker's path to get the path of its footprint file.
const footprintSuffix = ".footprint.json"

// Footprint returns the size of a driver's worker, its build times, the platforms for which it can be built
// without a C compiler, and the library's license and date. Before each build it calls the function
// "building". It caches the results next to the worker, so each build is made only once. If sqlite3perf does
// not build the driver's worker, Footprint returns nil.
func (b *Builder) Footprint(ctx context.Context, ref Ref, o FootprintOptions, building func(what string)) (*result.Footprint, error) {
	if ref.Path != "" || len(ref.Known.Command) > 0 {
		return nil, nil
	}
	worker, _, err := b.Worker(ctx, ref, func() { building("its worker") })
	if err != nil {
		return nil, err
	}
	_, env, err := b.path(ctx, ref)
	if err != nil {
		return nil, err
	}
	scratch, err := process.NewScratch(filepath.Dir(worker), buildDirectory)
	if err != nil {
		return nil, &CacheError{err}
	}
	defer scratch.Remove()
	s := &stripped{builder: b, ref: ref, env: env, dir: scratch.Dir}
	f := &result.Footprint{}
	if data, err := os.ReadFile(worker + footprintSuffix); err == nil && json.Unmarshal(data, f) != nil {
		f = &result.Footprint{}
	}
	if s.flags, err = modFlags(ref, s.dir); err != nil {
		return nil, err
	}
	if err := s.describe(ctx, f); err != nil {
		return nil, err
	}
	if f.SizeBytes == 0 {
		building("without symbols")
		if _, f.SizeBytes, err = s.build(ctx); err == nil {
			f.WarmNS, _, err = s.build(ctx) // a second build, because the first may have compiled dependencies
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Cold && f.ColdNS == 0 {
		building("with an empty build cache, which takes minutes")
		if f.ColdNS, _, err = s.build(ctx, "GOCACHE="+filepath.Join(s.dir, "cache")); err != nil {
			return nil, err
		}
	}
	all := f.Targets
	f.Targets = nil
	for _, target := range o.Targets {
		i := slices.IndexFunc(all, func(t result.TargetBuild) bool { return t.Target == target })
		if i < 0 {
			built, err := s.target(ctx, target, building)
			if err != nil {
				return nil, err
			}
			i, all = len(all), append(all, built)
		}
		f.Targets = append(f.Targets, all[i])
	}
	kept := *f
	kept.Targets = all
	if data, err := json.Marshal(kept); err == nil {
		_ = os.WriteFile(worker+footprintSuffix, data, 0o644) // if writing fails, the next call builds again
	}
	return f, nil
}

// stripped builds a driver's worker without symbols.
type stripped struct {
	builder *Builder
	ref     Ref
	env     *toolchain
	dir     string // directory for the executable and temporary files
	flags   []string
}

// build builds the worker. The parameter "environment" has environment variables to add. build returns the
// time of the build, in ns, and the executable's size in bytes.
func (s *stripped) build(ctx context.Context, environment ...string) (ns, size int64, err error) {
	out := filepath.Join(s.dir, "worker")
	defer os.Remove(out)
	begin := time.Now()
	said, err := s.builder.compile(ctx, s.ref, s.env, s.dir, out, slices.Concat([]string{"-ldflags=-s -w"}, s.flags), environment)
	if err != nil {
		return 0, 0, cmp.Or[error](ctx.Err(), s.builder.cannotBuild(s.ref, said, err))
	}
	ns = time.Since(begin).Nanoseconds()
	fi, err := os.Stat(out)
	if err != nil {
		return 0, 0, err
	}
	return ns, fi.Size(), nil
}

// target builds the worker for a platform without a C compiler. For a cgo driver it reports a failure and
// builds nothing, because some cgo libraries can be built without a C compiler, but fail when they are used.
func (s *stripped) target(ctx context.Context, target string, building func(string)) (result.TargetBuild, error) {
	t := result.TargetBuild{Target: target}
	if s.ref.Known.Kind == driver.Cgo {
		t.Message = "needs a C compiler for " + target
		return t, nil
	}
	goos, goarch, _ := strings.Cut(target, "/")
	building("for " + target)
	_, _, err := s.build(ctx, "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if failed, ok := errors.AsType[*BuildError](err); ok {
		t.Message = failed.Reason.Message
		return t, nil
	}
	t.OK = err == nil
	return t, err
}

// describe sets the library's module, version, date and license in f.
func (s *stripped) describe(ctx context.Context, f *result.Footprint) error {
	args := append([]string{"list", "-m", "-json"}, s.flags...)
	out, said, err := s.builder.lookup(ctx, s.ref.Known.Dir, append(args, s.ref.Known.Module)...)
	if err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("%s: %s", s.ref.Known.Module, FirstComplaint(said, err)))
	}
	var m struct {
		Version string
		Time    time.Time
		Dir     string
		Replace *struct{ Dir string }
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return fmt.Errorf("%s: %w", s.ref.Known.Module, err)
	}
	f.Module = s.ref.Known.Module
	if m.Replace != nil {
		m.Dir, m.Version, m.Time = m.Replace.Dir, "", time.Time{}
	}
	f.Version, f.Released = m.Version, m.Time
	f.License = LicenseIn(m.Dir)
	return nil
}

// UnknownLicense means that LicenseIn does not recognize the library's license.
const UnknownLicense = "unknown"

var licenseFile = regexp.MustCompile(`(?i)^(un)?(license|licence|copying)(\.(txt|md))?$`)

// LicenseIn returns the SPDX name of the license in a library's directory, or
// UnknownLicense.
func LicenseIn(dir string) string {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !licenseFile.MatchString(e.Name()) {
			continue
		}
		if data, err := directory.ReadRegular(filepath.Join(dir, e.Name()), maxModule); err == nil {
			if name := licenseOf(string(data)); name != UnknownLicense {
				return name
			}
		}
	}
	return UnknownLicense
}

// licenseOf recognizes common licenses by phrases in their texts. It returns the SPDX name, or UnknownLicense.
func licenseOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("apache license") && has("version 2.0"):
		return "Apache-2.0"
	case has("mozilla public license") && has("2.0"):
		return "MPL-2.0"
	case has("gnu lesser general public license"), has("gnu affero general public license"), has("gnu general public license"):
		return UnknownLicense // SPDX names need the license's version, and whether later versions are allowed; this phrase does not show them
	case has("redistribution and use in source and binary forms"):
		if has("neither the name") || has("may be used to endorse or promote products") {
			return "BSD-3-Clause"
		}
		return "BSD-2-Clause"
	case has("permission is hereby granted, free of charge"):
		return "MIT"
	case has("permission to use, copy, modify,") && has("distribute this software for any purpose"):
		return "ISC"
	case has("this is free and unencumbered software"):
		return "Unlicense"
	}
	return UnknownLicense
}
