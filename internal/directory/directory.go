// Package directory examines paths that users give. It lists directories that do not exist, and
// opens files only if they are regular.
package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Missing lists the directories that os.MkdirAll(dir) would create, the innermost first. These are
// dir and its parents that do not exist.
func Missing(dir string) (missing []string) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			return missing
		}
		missing = append(missing, d)
	}
}

// errNotRegular is the error that [OpenRegular] wraps if a file is not regular.
var errNotRegular = errors.New("is not a regular file")

// OpenRegular opens a file for reading. It returns an error if the path is a directory, a
// device or a pipe. Opening a pipe could block forever, and so could reading from a device.
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

// ReadRegular reads a whole file, which it opens with [OpenRegular]. It returns an error if the
// file has more bytes than the parameter "most".
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
