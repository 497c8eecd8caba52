package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath returns the path of the store if the user names no file. It is sqlite3perf/results.db
// in $XDG_DATA_HOME. If this variable is not set, it is in the platform's directory for application
// data.
func DefaultPath() (string, error) {
	dir, err := dataDir(runtime.GOOS)
	if err != nil {
		return "", &UnusableError{err: errors.New("store: no home directory is set")}
	}
	return filepath.Join(dir, "sqlite3perf", "results.db"), nil
}

func dataDir(goos string) (string, error) {
	// The XDG Base Directory Specification says to ignore a relative path.
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if dir := os.Getenv("LocalAppData"); goos == "windows" && dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch goos {
	case "windows":
		return filepath.Join(home, "AppData", "Local"), nil
	case "darwin":
		return filepath.Join(home, "Library", "Application Support"), nil
	default:
		return filepath.Join(home, ".local", "share"), nil
	}
}
