package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// header reads settings from the header of the database file that the worker left. It fails the trial if these
// settings differ from the settings that the worker last read back. The header contains three settings and the
// version of SQLite (https://www.sqlite.org/fileformat2.html, section 1.3).
func (s *session) header(path string) {
	if s.trial.Status != result.OK || s.inForce == nil {
		return
	}
	got, version, err := headerOf(path)
	if err != nil {
		s.fail(result.Failed, protocol.CodeDatabase, "the database that the worker has left: %v", err)
		return
	}
	if said := s.trial.Proof.SQLiteVersion; version != "" && version != s.begins && said != version && !strings.HasPrefix(said, version+".") {
		s.fail(result.Failed, protocol.CodeProtocol, "sqlite_version of the proof is %q: want %q, which wrote the database as its header says", said, version)
		return
	}
	for _, name := range []string{"page_size", "auto_vacuum", "journal_mode"} {
		said, got := s.inForce[name], got[name]
		same := said == got || name == "journal_mode" && said != "wal" && got == "not wal"
		if said != "" && got != "" && !same {
			s.fail(result.Refused, protocol.CodeSetting, "%s: the worker read back %s, and the header of the database says %s", name, said, got)
			return
		}
	}
}

// headerOf reads settings, and the version of the SQLite that last wrote to the database, from
// the header of the database file at path. It returns no settings if the file is missing or
// empty, as with a database in memory.
func headerOf(path string) (got driver.Settings, version string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	var h [100]byte
	if _, err := io.ReadFull(f, h[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return nil, "", errors.New("it does not begin as a SQLite database")
	}
	size := int(binary.BigEndian.Uint16(h[16:]))
	if size == 1 {
		size = 65536
	}
	got = driver.Settings{"page_size": fmt.Sprint(size), "journal_mode": "not wal", "auto_vacuum": "none"}
	if h[18] == 2 && h[19] == 2 {
		got["journal_mode"] = "wal"
	}
	if binary.BigEndian.Uint32(h[52:]) != 0 {
		got["auto_vacuum"] = "full"
		if binary.BigEndian.Uint32(h[64:]) != 0 {
			got["auto_vacuum"] = "incremental"
		}
	}
	if v := binary.BigEndian.Uint32(h[96:]); v > 0 {
		version = fmt.Sprintf("%d.%d.%d", v/1e6, v/1e3%1e3, v%1e3)
	}
	return got, version, nil
}
