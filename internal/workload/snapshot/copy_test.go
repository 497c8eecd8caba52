package snapshot

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRefused checks the errors for files that cannot be copied. The files and their directory must
// not change.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want, content string
		path                string // path to copy; if it is "", a new file is copied
		journal             string
		application         string
	}{
		{name: "nothing", path: "missing.db", want: "there is no such file"},
		{name: "directory", path: ".", want: "it is a directory"},
		{name: "device", path: "/dev/null", want: "it is not a regular file"},
		{name: "empty", want: "it is empty, 0 bytes long"},
		{name: "short", content: "SQLite", want: "it does not begin as a SQLite database does"},
		{name: "encrypted", content: strings.Repeat("\x8e\x01", 2048), want: "it does not begin as a SQLite database does: it is another kind of file, or encrypted"},
		{name: "header", content: magic, want: "too short"},
		{name: "encrypted after the header", content: magic + strings.Repeat("x", 4096), want: "SQLite cannot read it: it is encrypted or damaged"},
		{name: "damaged", content: magic + strings.Repeat("\x10\x00\x01\x01\x00\x40\x20\x20", 600), want: "SQLite cannot read it: "},
		{name: "journal", content: magic + strings.Repeat("x", 4096), journal: "\xd9\xd5\x05\xf9", want: "there is a app.db-journal: try again later, or name a copy: sqlite3 "},
		{name: "locked", application: "PRAGMA cache_size = 5; BEGIN EXCLUSIVE; UPDATE t SET text = text || 'x'", want: "there is a app.db-journal: try again later"},
		{name: "locked without a journal", application: "PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE; SELECT count(*) FROM t", want: " has locked it to write to it: try again later"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "app.db")
			switch {
			case filepath.IsAbs(test.path):
				path = test.path
			case test.path != "":
				path = filepath.Join(filepath.Dir(path), test.path)
			case test.application != "":
				path = made(t, "delete")
				beside(t, path, test.application)
			default:
				if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.journal != "" {
				if err := os.WriteFile(path+"-journal", []byte(test.journal), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Dir(path)
			copies := t.TempDir()
			var before map[string]string
			if !filepath.IsAbs(test.path) {
				before = listing(t, dir)
			}
			_, err := take(t.Context(), path, copies, 5*time.Millisecond) // waiting would not help, because nothing changes
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "database "+path+": ") {
				t.Errorf("%v, want %q", err, test.want)
			}
			if before != nil {
				if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
					t.Errorf("the directory of the original has changed (-before +after):\n%s", diff)
				}
			}
			if left, err := os.ReadDir(copies); err != nil || len(left) > 0 {
				t.Errorf("files left in the directory of the copy: %v, %v", left, err)
			}
		})
	}
}

// TestSparse copies databases whose files are mostly holes. Bytes after the pages are left out.
// If pages are holes, the copy is refused before anything is written.
func TestSparse(t *testing.T) {
	t.Parallel()
	const huge = 1 << 40
	for name, pages := range map[string]uint32{"behind the pages": 0, "pages": huge / 4096} {
		path, copies := made(t, "delete"), t.TempDir()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(huge); err != nil {
			t.Skipf("no sparse files here: %v", err)
		}
		if pages > 0 {
			_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, pages), 28)
		}
		old := time.Now().Add(-time.Hour)
		if err := errors.Join(err, f.Close(), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
		s, err := take(t.Context(), path, copies, 5*time.Millisecond)
		switch {
		case pages == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case pages == 0:
			if s.Bytes > 1<<20 {
				t.Errorf("%s: the copy has %d bytes", name, s.Bytes)
			}
			s.Close()
		case err == nil || !strings.Contains(err.Error(), "app.db is sparse: it has 1099511627776 bytes"):
			t.Errorf("%s: %v", name, err)
		}
	}
}
