// Package directory finds out which directories are missing.
package directory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Missing lists the directories that creating dir would create: dir itself and those
// above it that do not exist, the innermost first.
func Missing(dir string) (missing []string) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			return missing
		}
		missing = append(missing, d)
	}
}
