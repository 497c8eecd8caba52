package process

import (
	"os"
	"path/filepath"
)

// Beside creates a temporary directory next to a file that will be replaced. If this process is killed, the
// directory stays until another process calls Beside for a file in the same directory.
func Beside(file string) (*Scratch, error) {
	return NewScratch(filepath.Dir(file), ".sqlite3perf-output-")
}

// Replace replaces a file and keeps its permissions. It first writes the data to a temporary file, so
// that the old file stays intact if the disk is full.
func Replace(file string, data []byte) error {
	scratch, err := Beside(file)
	if err != nil {
		return err
	}
	defer scratch.Remove()
	temp := filepath.Join(scratch.Dir, "output")
	if err := os.WriteFile(temp, data, 0o666); err != nil {
		return err
	}
	if old, err := os.Stat(file); err == nil {
		if err := os.Chmod(temp, old.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(temp, file)
}
