package build_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestFootprint checks the footprint of a real driver: license, date, size, and a platform
// without a C compiler. A second call must not build again.
func TestFootprint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a worker")
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	b := &build.Builder{Source: source, Cache: cache}
	ref, err := build.ParseRef(ctx, "modernc", known)
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Footprint(ctx, ref, build.FootprintOptions{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if f.License != "BSD-3-Clause" || f.Released.Year() < 2020 || f.Version != ref.Known.Version || f.Module != "modernc.org/sqlite" {
		t.Errorf("%+v", f)
	}
	path, _, err := b.Worker(ctx, ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.SizeBytes < 1e6 || f.SizeBytes >= fi.Size() || f.WarmNS <= 0 || f.ColdNS != 0 || f.Targets != nil {
		t.Errorf("%+v; with symbols it has %d bytes", f, fi.Size())
	}
	again, err := b.Footprint(ctx, ref, build.FootprintOptions{}, func(what string) { t.Errorf("built again: %s", what) })
	if err != nil {
		t.Fatal(err)
	}
	if again.SizeBytes != f.SizeBytes || again.WarmNS != f.WarmNS {
		t.Errorf("%+v, then %+v", f, again)
	}
	bad, err := b.Footprint(ctx, ref, build.FootprintOptions{Targets: []string{"plan10/z80"}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(bad.Targets) != 1 || bad.Targets[0].OK || bad.Targets[0].Message == "" {
		t.Errorf("%+v", bad.Targets)
	}
	mattn, err := build.ParseRef(ctx, "mattn", known)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Footprint(ctx, mattn, build.FootprintOptions{Targets: []string{"linux/arm64"}}, func(string) {})
	if _, _, buildable := b.Worker(ctx, mattn, nil); buildable != nil {
		t.Logf("mattn cannot be built here: %v", buildable)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.License != "MIT" || len(c.Targets) != 1 || c.Targets[0].OK || c.Targets[0].Message != "needs a C compiler for linux/arm64" {
		t.Errorf("%+v", c)
	}
}

// TestSoakFootprintBuilds builds a driver with an empty build cache, for a supported and for an
// unsupported platform. Each build must run only once. The driver imports few packages, so a
// cold build takes seconds.
func TestSoakFootprintBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds with an empty build cache")
	}
	s, ref := clone(t)
	write(t, s.Root, map[string]string{
		"drivers/toy/lib/LICENSE":         "This is free and unencumbered software released into the public domain.",
		"drivers/toy/lib/unix_windows.go": "package lib\n\nvar _ = not here\n",
		"drivers/toy/worker/main.go":      "package main\n\nimport _ \"example.com/lib\"\n\nfunc main() { println(1) }\n",
	})
	b := &build.Builder{Source: s, Cache: t.TempDir()}
	o := build.FootprintOptions{Cold: true, Targets: []string{"linux/arm64", "windows/amd64"}}
	var said []string
	f, err := b.Footprint(t.Context(), ref, o, func(what string) { said = append(said, what) })
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"its worker", "without symbols", "with an empty build cache, which takes minutes", "for linux/arm64", "for windows/amd64"}; !slices.Equal(said, want) {
		t.Errorf("built %q, want %q", said, want)
	}
	if f.ColdNS <= f.WarmNS || f.WarmNS <= 0 || f.SizeBytes <= 0 || f.License != "Unlicense" {
		t.Errorf("%+v: a build with an empty cache compiles Go's runtime, so it takes longer than one with a full one", f)
	}
	if len(f.Targets) != 2 || !f.Targets[0].OK || f.Targets[0].Message != "" || f.Targets[1].OK || !strings.Contains(f.Targets[1].Message, "unix_windows.go") {
		t.Errorf("%+v: want linux/arm64 to build, and windows/amd64 not to, with the compiler's complaint", f.Targets)
	}
	again, err := b.Footprint(t.Context(), ref, o, func(what string) { t.Errorf("built again: %s", what) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, again); diff != "" {
		t.Errorf("-first +again:\n%s", diff)
	}
	if left, err := filepath.Glob(filepath.Join(b.Cache, "building-*")); err != nil || left != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestLicenseIn(t *testing.T) {
	const bsd = "Redistribution and use in source\nand binary forms, with or without modification, are permitted"
	for name, c := range map[string]struct{ file, text string }{
		"MIT":          {"LICENSE", "The MIT License\n\nPermission is hereby granted, free\nof charge, to any person"},
		"BSD-2-Clause": {"LICENSE.md", bsd},
		"BSD-3-Clause": {"license.txt", bsd + ". * Neither the name of the authors nor"},
		"Apache-2.0":   {"COPYING", "Apache License\n  Version 2.0, January 2004"},
		"MPL-2.0":      {"LICENSE", "Mozilla Public License Version 2.0"},
		"ISC":          {"LICENCE", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
		"Unlicense":    {"UNLICENSE", "This is free and unencumbered software released into the public domain."},
		"unknown":      {"LICENSE", "All rights reserved."},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := build.LicenseIn(dir); got != name {
			t.Errorf("%s: %s, want %s", c.file, got, name)
		}
	}
	if got := build.LicenseIn(t.TempDir()); got != build.UnknownLicense {
		t.Errorf("no file: %s", got)
	}
}
