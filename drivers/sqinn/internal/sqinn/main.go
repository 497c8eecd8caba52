// Command sqinn replaces the executable of the same name in tests, because that executable may
// not be available. It speaks the protocol that sqinn-go v1.2.0 expects of sqinn 1.x, with a
// real SQLite. It has the limits of sqinn: primary result codes, texts that end at a NUL, empty
// BLOBs that read as NULL, and only the first statement of a request.
//
// If SQINN_VERSION is set, it reports that version. If SQINN_TRACE is set, it appends a line to
// the file of that name for each request that executes a statement.
package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"zombiezen.com/go/sqlite"
)

// The codes of the protocol's functions. The first byte of a request is such a code.
const (
	sqinnVersion  = 1
	ioVersion     = 2
	sqliteVersion = 3
	openDatabase  = 10
	closeDatabase = 18
	execute       = 51
	query         = 52
)

// The codes of types of values in requests and responses.
const (
	null    = 0
	int32s  = 1
	int64s  = 2
	text    = 4
	blob    = 5
	doubles = 6
)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	var db database
	for {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(size[:])
		if n == 0 {
			return
		}
		req := make(request, n)
		if _, err := io.ReadFull(in, req); err != nil {
			return
		}
		resp, err := db.handle(req)
		if err != nil {
			message := err.Error()
			resp = appendText([]byte{0}, message[:min(len(message), 127)])
		} else {
			resp = append([]byte{1}, resp...)
		}
		_, err = out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(resp))), resp...))
		if err := errors.Join(err, out.Flush()); err != nil {
			return
		}
	}
}

// request is the part of a request that is still to be read.
type request []byte

func (r *request) take(n int) []byte {
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

func (r *request) byte() byte   { return r.take(1)[0] }
func (r *request) int() int     { return int(int32(binary.BigEndian.Uint32(r.take(4)))) }
func (r *request) long() uint64 { return binary.BigEndian.Uint64(r.take(8)) }
func (r *request) blob() []byte { return r.take(r.int()) }

// text reads a string up to its first NUL. The last byte of a string is always NUL.
func (r *request) text() string {
	s, _, _ := strings.Cut(string(r.blob()), "\x00")
	return s
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	return append(append(b, s...), 0)
}

type database struct{ conn *sqlite.Conn }

// failed returns the error with which sqinn reports an error of a C function of SQLite.
func failed(function string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: err=%d, msg=%w", function, sqlite.ErrCode(err).ToPrimary(), err)
}

func (d *database) handle(req request) ([]byte, error) {
	switch f := req.byte(); f {
	case sqinnVersion:
		return appendText(nil, cmp.Or(os.Getenv("SQINN_VERSION"), "1.1.27")), nil
	case ioVersion:
		return []byte{1}, nil
	case sqliteVersion:
		return appendText(nil, sqlite.Version), nil
	case openDatabase:
		return nil, d.open(req.text())
	case closeDatabase:
		return nil, d.close()
	case execute:
		return d.exec(&req)
	case query:
		return d.query(&req)
	default:
		return nil, fmt.Errorf("unknown function code %d", f)
	}
}

func (d *database) open(name string) error {
	if d.conn != nil {
		return errors.New("cannot open, db is already open")
	}
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return failed("sqlite3_open_v2", err)
	}
	conn.SetBusyTimeout(0) // 0 is SQLite's default
	d.conn = conn
	return nil
}

func (d *database) close() error {
	if d.conn == nil {
		return nil
	}
	err := d.conn.Close()
	d.conn = nil
	return failed("sqlite3_close", err)
}

func (d *database) prepare(sql string) (*sqlite.Stmt, error) {
	if d.conn == nil {
		return nil, errors.New("sqlite3_prepare_v2: err=21, msg=no database is open")
	}
	stmt, _, err := d.conn.PrepareTransient(sql)
	return stmt, failed("sqlite3_prepare_v2", err)
}

func (d *database) exec(req *request) (resp []byte, err error) {
	stmt, err := d.prepare(req.text())
	if err != nil {
		return nil, err
	}
	defer func() { _ = stmt.Finalize() }() // no error is lost: Finalize repeats the error of Step
	times, params := req.int(), req.int()
	if err := trace(times, params); err != nil {
		return nil, err
	}
	for range times {
		if err := bind(stmt, req, params); err != nil {
			return nil, err
		}
		if _, err := stmt.Step(); err != nil {
			return nil, failed("sqlite3_step", err)
		}
		resp = binary.BigEndian.AppendUint32(resp, uint32(d.conn.Changes()))
		if err := stmt.Reset(); err != nil {
			return nil, failed("sqlite3_reset", err)
		}
	}
	return resp, nil
}

func trace(times, params int) error {
	name := os.Getenv("SQINN_TRACE")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d times, %d parameters\n", times, params)
	return errors.Join(err, f.Close())
}

func (d *database) query(req *request) (resp []byte, err error) {
	stmt, err := d.prepare(req.text())
	if err != nil {
		return nil, err
	}
	defer func() { _ = stmt.Finalize() }() // no error is lost: Finalize repeats the error of Step
	if err := bind(stmt, req, req.int()); err != nil {
		return nil, err
	}
	types := req.take(req.int())
	resp = make([]byte, 4)
	for rows := uint32(0); ; rows++ {
		row, err := stmt.Step()
		if err != nil {
			return nil, failed("sqlite3_step", err)
		}
		if !row {
			binary.BigEndian.PutUint32(resp, rows)
			return resp, nil
		}
		for i, t := range types {
			resp = appendColumn(resp, stmt, i, t)
		}
	}
}

func bind(stmt *sqlite.Stmt, req *request, params int) error {
	if bound := stmt.BindParamCount(); params > bound {
		return fmt.Errorf("sqlite3_bind: err=25, msg=%d parameters for %d", params, bound)
	}
	for i := 1; i <= params; i++ {
		switch t := req.byte(); t {
		case null:
			stmt.BindNull(i)
		case int32s:
			stmt.BindInt64(i, int64(req.int()))
		case int64s:
			stmt.BindInt64(i, int64(req.long()))
		case doubles:
			stmt.BindFloat(i, math.Float64frombits(req.long()))
		case text:
			stmt.BindText(i, req.text())
		case blob:
			stmt.BindBytes(i, req.blob())
		default:
			return fmt.Errorf("unknown bind val_type %d", t)
		}
	}
	return nil
}

// appendColumn appends 0 if column i is NULL or a BLOB without bytes. Otherwise it appends 1 and
// the value as type t.
func appendColumn(b []byte, stmt *sqlite.Stmt, i int, t byte) []byte {
	if stmt.ColumnIsNull(i) || t == blob && stmt.ColumnLen(i) == 0 {
		return append(b, 0)
	}
	b = append(b, 1)
	switch t {
	case int32s:
		return binary.BigEndian.AppendUint32(b, uint32(stmt.ColumnInt32(i)))
	case int64s:
		return binary.BigEndian.AppendUint64(b, uint64(stmt.ColumnInt64(i)))
	case doubles:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(stmt.ColumnFloat(i)))
	case text:
		s, _, _ := strings.Cut(stmt.ColumnText(i), "\x00")
		return appendText(b, s)
	default:
		v := make([]byte, stmt.ColumnLen(i))
		stmt.ColumnBytes(i, v)
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
}
