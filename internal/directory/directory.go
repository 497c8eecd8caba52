// Package directory examines paths that users give: it lists the directories that are missing,
// and reads only regular files.
package directory

import (
	"errors"
	"fmt"
	"io"
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

// errNotRegular is why [OpenRegular] refuses a file.
var errNotRegular = errors.New("is not a regular file")

// OpenRegular opens a file for reading, unless it is a directory, a device or a pipe: to open
// a pipe that nobody writes to would take forever, as would reading from a device.
func OpenRegular(path string) (*os.File, error) {
	fi, err := os.Stat(path)
	if err == nil && !fi.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadRegular opens a file with [OpenRegular] and reads all of it. It fails if the file has more
// than most bytes.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is larger than %d bytes", most)}
	}
	return data, err
}
