package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
)

// busyError says why a database cannot be copied now. A later attempt may succeed.
type busyError string

func (e busyError) Error() string { return string(e) }

// Copying is attempted for about 6 seconds. Each pause between attempts is longer than the previous
// one by the constant "pause".
const (
	attempts = 13
	pause    = 80 * time.Millisecond
)

// magic is at the beginning of every database that is not encrypted.
const magic = "SQLite format 3\x00"

// Check returns an error if a file cannot be a database. It reads only the first bytes of the
// file.
func Check(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file: name a database")
	case err != nil:
		return directory.Reason(err)
	case fi.IsDir():
		return errors.New("it is a directory: name the file of a database")
	case !fi.Mode().IsRegular():
		return errors.New("it is not a regular file: name the file of a database")
	case fi.Size() == 0:
		return errors.New("it is empty, 0 bytes long: name a database that has tables")
	}
	first, err := head(path, len(magic))
	if err != nil {
		return err
	}
	if string(first) != magic {
		return errors.New("it does not begin as a SQLite database does: it is another kind of file, or encrypted")
	}
	return nil
}

// head returns the first n bytes of a file, or the whole file if it is shorter.
func head(path string, n int) ([]byte, error) {
	f, err := directory.OpenRegular(path) // opening a named pipe that has the log's name would wait forever
	if err != nil {
		return nil, directory.Reason(err)
	}
	defer f.Close()
	first := make([]byte, n)
	n, err = io.ReadFull(f, first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return first[:n], directory.Reason(err)
}

// headOfLog returns the header of a database's write-ahead log, or nil if the log is missing or
// shorter than its header.
func headOfLog(path string) ([]byte, error) {
	first, err := head(path+"-wal", 32)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(first) < 32 {
		return nil, nil
	}
	return first, err
}

// copyQuiet copies a database and its write-ahead log, so that the copy has only complete transactions. It
// returns the SHA-256 of the copied database without the log. If a program is writing to the database,
// copyQuiet tries again, and returns an error after the last attempt.
func copyQuiet(ctx context.Context, path, to string, pause time.Duration) (sum string, err error) {
	for i := range attempts {
		if i > 0 {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Duration(i) * pause):
			}
		}
		if sum, err = copyOnce(ctx, path, to); err == nil {
			return sum, nil
		}
		remove(to)
		if _, later := errors.AsType[busyError](err); !later {
			return "", err
		}
	}
	return "", fmt.Errorf(`%w: try again later, or name a copy: sqlite3 "%s" "VACUUM INTO 'copy.db'"`, err, strings.ReplaceAll(filepath.Base(path), `"`, `\"`))
}

// The constant "settled" is the least time between the last write to a file and the copy of the file.
// File systems record the time of a write with a coarse clock, so another write within the same tick of
// that clock would not be noticed.
const settled = 50 * time.Millisecond

func copyOnce(ctx context.Context, path, to string) (string, error) {
	before, err := os.Stat(path)
	if err != nil {
		return "", directory.Reason(err)
	}
	if time.Since(before.ModTime()).Abs() < settled {
		return "", busyError("a program writes to it")
	}
	if err := idle(path); err != nil {
		return "", err
	}
	log, err := headOfLog(path)
	if err != nil {
		return "", err
	}
	if err := fits(path, filepath.Dir(to)); err != nil {
		return "", err
	}
	sum, err := copyFile(ctx, path, to)
	if err == nil && log != nil {
		_, err = copyFile(ctx, path+"-wal", to+"-wal")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", busyError("its files come and go")
	}
	if err != nil {
		return "", err
	}
	again, err := headOfLog(path)
	if err != nil {
		return "", err
	}
	// With a write-ahead log, only checkpoints write the database file. Transactions are appended to the log.
	// When the log starts again from its beginning, its header gets new salts. So the copy is right if
	// neither the database file nor the log's header has changed. The last frames of the log may be
	// incomplete in the copy, but then their checksums are wrong, and SQLite ignores them.
	if after, _ := os.Stat(path); !same(before, after) || !bytes.Equal(log, again) {
		return "", busyError("a program writes to it faster than it can be copied")
	}
	return sum, idle(path)
}

// idle returns an error if a transaction may be writing to the database file, or if a process may have been
// killed while it wrote.
func idle(path string) error {
	journal := filepath.Base(path) + "-journal"
	// A committed transaction may leave a journal whose first byte is zero. SQLite ignores such a journal.
	first, err := head(path+"-journal", 1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("its journal %s: %w", journal, err)
	case len(first) == 1 && first[0] != 0:
		return busyError("a program is in the middle of a transaction, or died in one: there is a " + journal)
	}
	if first, err = head(path, 20); err != nil {
		return err
	}
	if len(first) == 20 && first[19] == 2 {
		return nil // in WAL mode, a lock does not mean that the database file is being written
	}
	if pid := writer(path); pid != 0 {
		return busyError(fmt.Sprintf("process %d has locked it to write to it", pid))
	}
	return nil
}

// copyFile copies the used part of a file (see [used]), and returns the SHA-256 of the copy.
func copyFile(ctx context.Context, from, to string) (string, error) {
	f, err := directory.OpenRegular(from)
	if err != nil {
		return "", directory.Reason(err)
	}
	defer f.Close()
	size, err := used(f)
	if err != nil {
		return "", err
	}
	if clone(f, to) {
		if err := os.Truncate(to, size); err != nil {
			return "", directory.Reason(err)
		}
		return hash(ctx, to)
	}
	return Write(ctx, io.NewSectionReader(f, 0, size), to, false)
}

// used returns how many bytes of a file must be copied. For a database, these are its pages: SQLite ignores
// bytes after the pages, which could be a hole of any size. For any other file, it is the size of the file.
// See https://www.sqlite.org/fileformat2.html#in_header_database_size.
func used(f *os.File) (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, directory.Reason(err)
	}
	var head [100]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:len(magic)]) != magic {
		return fi.Size(), nil //nolint:nilerr // the file is a log, or too short for a database
	}
	page, pages := int64(binary.BigEndian.Uint16(head[16:])), int64(binary.BigEndian.Uint32(head[28:]))
	if page == 1 {
		page = 65536
	}
	if pages == 0 || !bytes.Equal(head[24:28], head[92:96]) { // an old version of SQLite wrote the file, so the number of pages in its header may be wrong
		return fi.Size(), nil
	}
	return min(fi.Size(), page*pages), nil
}

// mostHollow is the maximum ratio of a file's size to the space allocated for it on disk. A file of more
// than 16 MiB with a higher ratio is rejected as sparse. Compressing file systems shrink databases by less
// than this.
const mostHollow = 20

// fits returns an error if the disk of dir has no room for a copy of a database and its log. It
// also returns an error if the database is sparse, because the holes would become blocks of the
// copy.
func fits(path, dir string) error {
	total := int64(0)
	for _, name := range []string{path, path + "-wal"} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return directory.Reason(err)
		}
		size, err := used(f)
		fi, serr := f.Stat()
		f.Close()
		if err = cmp.Or(err, serr); err != nil {
			return directory.Reason(err)
		}
		if on := allocated(fi); on >= 0 && size > 1<<24 && size/mostHollow > on {
			return fmt.Errorf("%s is sparse: it has %d bytes, and only %d of them are on its disk: name a database that SQLite has written", filepath.Base(name), size, on)
		}
		total += size
	}
	if free := room(dir); free >= 0 && total > free {
		return fmt.Errorf("a copy has %d bytes, and its disk has room for %d: make room in %s", total, free, dir)
	}
	return nil
}

// Write copies everything from a reader into a new file, and returns the SHA-256 of the contents.
// The parameter "to" is the path of the file. If the parameter "sync" is true, the contents are on
// the disk when Write returns. If Write fails, it leaves no file that it has created.
func Write(ctx context.Context, from io.Reader, to string, sync bool) (string, error) {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	sum, err := drain(ctx, f, from)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(to)
	}
	return sum, err
}

// hash returns the SHA-256 of a file.
func hash(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", directory.Reason(err)
	}
	defer f.Close()
	return drain(ctx, io.Discard, f)
}

// drain copies everything from a reader to a writer, and returns the SHA-256 of the copied
// bytes.
func drain(ctx context.Context, to io.Writer, from io.Reader) (string, error) {
	h := sha256.New()
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		h.Write(buffer[:n]) // writing to a hash never fails
		if _, err := to.Write(buffer[:n]); err != nil {
			return "", err
		}
		switch {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", directory.Reason(err)
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}
