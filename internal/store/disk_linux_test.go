package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func init() {
	children["small disk"] = func([]string) error { return smallDisk() }
	children["read-only"] = func([]string) error { return readOnlyDisk() }
}

// TestDisk runs a child process in its own mount namespace. There the child can mount a small disk
// and a read-only disk without changing the machine's mounts.
func TestDisk(t *testing.T) {
	for _, name := range []string{"small disk", "read-only"} {
		t.Run(name, func(t *testing.T) {
			cmd := child(t, name)
			cmd.Dir = t.TempDir()
			attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			if os.Geteuid() != 0 {
				attr.Cloneflags |= syscall.CLONE_NEWUSER
				attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
				attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
			}
			cmd.SysProcAttr = attr
			if err := cmd.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
				t.Skipf("this system does not allow the test to create a mount namespace: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// mount mounts a file system in memory, with the given maximum size, on the new directory "disk" in
// the current directory.
func mount(size string) (dir string, err error) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("mount namespace: %w", err)
	}
	if dir, err = filepath.Abs("disk"); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
}

func smallDisk() error {
	ctx := context.Background()
	dir, err := mount("768k")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "data", "results.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		return err
	}
	defer s.Close()
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		return err
	}
	kept := 0
	for ; err == nil; kept++ {
		large := trial(kept + 1)
		large.Samples[0].Checksum = strings.Repeat("x", 20_000)
		err = s.AddTrial(ctx, r.ID, large)
	}
	kept--
	if e := want(err, path, "no space left"); e != nil {
		return e
	}
	got, err := s.Load(ctx, r.ID)
	if err != nil || len(got.Trials) != kept || kept < 5 {
		return fmt.Errorf("%d trials are left, %v; %d were stored", len(got.Trials), err, kept)
	}

	// If no space is left, no store can be created, and nothing remains of the attempt.
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 1<<20), 0o644); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is not full: %v", err)
	}
	second := filepath.Join(dir, "more", "data", "results.db")
	_, err = store.Open(context.Background(), second)
	if e := want(err, second, "no space left"); e != nil {
		return e
	}
	if _, err := os.Stat(filepath.Join(dir, "more")); !os.IsNotExist(err) {
		return fmt.Errorf("no store could be created, but its directory remains: %v", err)
	}
	_, err = store.Open(context.Background(), path)
	if e := want(err, path, "no space left"); e != nil {
		return fmt.Errorf("opening a store for writing on a full disk: %w", e)
	}

	// When there is space again, the same store can be used.
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		return err
	}
	if err := s.AddTrial(ctx, r.ID, trial(kept+1)); err != nil {
		return fmt.Errorf("when there is space again: %w", err)
	}
	if got, err = s.Load(ctx, r.ID); err != nil || len(got.Trials) != kept+1 {
		return fmt.Errorf("when there is space again: %d trials, %v; want %d", len(got.Trials), err, kept+1)
	}
	return nil
}

func readOnlyDisk() error {
	ctx := context.Background()
	dir, err := mount("1m")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "results.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		return err
	}
	if err := s.Begin(ctx, smallRun()); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	if _, err = store.Open(context.Background(), path); err == nil {
		return errors.New("a read-only store was opened for writing")
	}
	if e := want(err, path, "is read-only"); e != nil {
		return e
	}
	second := filepath.Join(dir, "new", "results.db")
	_, err = store.Open(context.Background(), second)
	if e := want(err, second, "read-only file system"); e != nil {
		return e
	}
	third := filepath.Join(dir, "new.db")
	_, err = store.Open(context.Background(), third)
	if e := want(err, third, "read-only file system"); e != nil {
		return e
	}
	r, err := store.OpenReadOnly(context.Background(), path)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Load(ctx, 1)
	return err
}

func want(err error, parts ...string) error {
	if err == nil {
		return fmt.Errorf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			return fmt.Errorf("error %q lacks %q", err, p)
		}
	}
	return nil
}

// TestTakenAway checks that adding a trial fails if the store's file has been deleted, moved or
// replaced while it was open. SQLite alone would continue writing to the deleted or moved file.
func TestTakenAway(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted":           os.Remove,
		"moved":             func(path string) error { return os.Rename(path, path+".old") },
		"directory deleted": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"replaced": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, path := context.Background(), filepath.Join(t.TempDir(), "data", "results.db")
			s := mustOpen(t, path)
			r := smallRun()
			if err := s.Begin(ctx, r); err != nil {
				t.Fatal(err)
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				wantError(t, s.AddTrial(ctx, r.ID, trial(1)), path, "was deleted, moved or replaced")
			}
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				t.Error("a new file was written in place of the store")
			}
		})
	}
}

func TestUnwritableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere, so TestDisk/read-only checks this instead")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "results.db")
	mustOpen(t, path)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) }) // so that the directory can be removed
	_, err := store.Open(context.Background(), path)
	wantError(t, err, path, "is read-only: make it and its directory writable")
	_, err = store.Open(context.Background(), filepath.Join(dir, "other.db"))
	wantError(t, err, filepath.Join(dir, "other.db"), "permission denied")
}
