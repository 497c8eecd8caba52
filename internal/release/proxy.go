package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// fileURL returns the file: URL of a directory.
func fileURL(dir string) string {
	slashes := filepath.ToSlash(dir)
	if slashes[0] != '/' {
		slashes = "/" + slashes // on Windows the path begins with a drive letter
	}
	return (&url.URL{Scheme: "file", Path: slashes}).String()
}

// publish adds a module to the directory r.proxy, which serves as a module proxy. It takes the module's files
// from the directory dir in a commit.
func (r *release) publish(ctx context.Context, modulePath, dir, commit string) error {
	m := module.Version{Path: modulePath, Version: r.version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return err
	}
	base := filepath.Join(r.proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	mod, err := git(ctx, r.root, "show", commit+":"+path.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	when, err := git(ctx, r.root, "show", "--no-patch", "--format=%cI", commit)
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, at.UTC()})
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(base, version+".zip"))
	if err != nil {
		return err
	}
	if err := errors.Join(zip.CreateFromVCS(archive, m, r.root, commit, dir), archive.Close()); err != nil {
		return fmt.Errorf("the archive of %s: %w", m, err)
	}
	return errors.Join(os.WriteFile(filepath.Join(base, version+".mod"), []byte(mod+"\n"), 0o644),
		os.WriteFile(filepath.Join(base, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(base, "list"), []byte(m.Version+"\n"), 0o644))
}
