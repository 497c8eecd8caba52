package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write bin/manual/LICENSES, the licenses of what the executable is linked from")

// permissive matches licenses that allow everybody to link the code and to distribute the result,
// if the license is distributed with it.
var permissive = regexp.MustCompile(`Permission is hereby granted, free of charge, to any person|` + // MIT
	`Redistribution and use in source and binary forms|` + // BSD
	`Apache License\s+Version 2\.0|` +
	`Permission to use, copy, modify, and/or distribute this software for any`) // ISC

// TestLicenses checks the license of every module that is linked into the command, on the platforms
// of a release. With -update it writes the texts of the licenses to a file that is part of each
// release.
func TestLicenses(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{
		"the Go standard library":      strings.TrimSpace(string(root)),
		"uPlot, in the pages of serve": filepath.Join("..", "explorer", "assets", "vendor", "uplot"),
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/sqlite3perf")
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(name, ours) {
				modules[name] = dir
			}
		}
	}
	if len(modules) < 20 {
		t.Errorf("only %d modules: %v", len(modules), modules)
	}
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		files, err := filepath.Glob(filepath.Join(modules[name], "*"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			if !regexp.MustCompile(`^(?i:licen[sc]e|copying|notice)\b`).MatchString(filepath.Base(f)) {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || permissive.Match(text)
			fmt.Fprintf(&all, "== %s: %s\n\n%s\n\n", name, filepath.Base(f), bytes.TrimSpace(text))
		}
		if !found {
			t.Errorf("%s has no license that is known to be permissive in %s", name, modules[name])
		}
	}
	if *update {
		write(t, filepath.Join("..", "..", "bin", "manual", "LICENSES"), all.String())
	}
}
