// Package record records the statements that an application runs on its database, so that
// sqlite3perf can run them again with other drivers and settings.
//
// It wraps the driver or the connector that the application gives to database/sql:
//
//	rec, err := record.Create("app.jsonl", record.Options{})
//	...
//	sql.Register("sqlite-recorded", rec.Driver(&sqlite.Driver{}))
//	db, err := sql.Open("sqlite-recorded", "file:app.db")
//	...
//	err = rec.Close() // after db.Close
//
// For each statement it writes the time, the connection, the transaction, the SQL, the
// parameters, the duration, the number of rows and the error. Of the parameters it writes only
// types and lengths, unless [Options.Values] is set. The SQL is written unchanged, including any
// values in its text.
//
// Lines are collected in a buffer, which is written when it is full, and at least once a second.
// If the process is killed, even by SIGKILL, lines that were written are kept, and lines in the
// buffer are lost. If writing fails, recording ends and the application goes on; [Recorder.Err]
// and [Recorder.Close] return the error.
//
// docs/recording.md describes the format. [Read] reads it.
package record

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the options of a recorder. The zero Options suits an application whose
// parameters are private.
type Options struct {
	// Values records the values of parameters, and the messages of errors. Otherwise only the
	// types and lengths of parameters, and SQLite's codes of errors, are recorded.
	Values bool

	// Buffer is the size in bytes at which the buffer is written. If the process is killed, the lines in
	// the buffer are lost. The default is 64 KiB.
	Buffer int

	// Interval is the longest time for which a line stays in the buffer. The default is one
	// second.
	Interval time.Duration

	// Code returns SQLite's extended result code in a library's error, or 0. The default calls
	// the error's methods ExtendedCode and Code, and reads its fields of these names.
	Code func(error) int
}

const (
	defaultBuffer   = 64 << 10
	defaultInterval = time.Second

	// A recorder remembers the texts of statements, so that it writes each text only once. An
	// application that puts values into its SQL has a new text at each execution. So there is a limit,
	// after which all texts are forgotten and written again.
	maxStatements     = 10_000
	maxStatementBytes = 16 << 20
)

// Recorder writes a recording. Multiple goroutines may use it simultaneously.
type Recorder struct {
	options Options
	began   time.Time
	file    io.Closer // file to close; nil if Create has not opened one

	mu         sync.Mutex
	w          io.Writer
	buf        []byte
	err        error
	closed     bool
	statements map[text]statement
	bytes      int   // total length in bytes of the texts in the field "statements"
	numbered   int64 // number of the last statement

	connections  atomic.Int64 // number of connections so far
	transactions atomic.Int64 // number of transactions so far

	stop chan struct{}
	done chan struct{}
}

// text identifies a statement. The same SQL counts as two statements if it is both prepared and run
// directly.
type text struct {
	sql      string
	prepared bool
}

// statement is a statement whose text is in the recording.
type statement struct {
	number    int64
	control   control
	savepoint string // name of the savepoint that the statement sets or releases, or ""
}

// Create creates a file and returns a recorder that writes to it. The file must not
// exist yet. Only its owner may read it.
func Create(path string, o Options) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("record: %s exists already: want the name of a new file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := New(f, o)
	r.file = f
	return r, nil
}

// New returns a recorder that writes to w.
func New(w io.Writer, o Options) *Recorder {
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.Code == nil {
		o.Code = codeOf
	}
	r := &Recorder{
		options: o, w: w, began: time.Now(), buf: make([]byte, 0, o.Buffer+4<<10),
		statements: map[text]statement{}, stop: make(chan struct{}), done: make(chan struct{}),
	}
	r.buf = appendHeader(r.buf, r.began, o.Values)
	go r.flushRegularly()
	return r
}

func (r *Recorder) flushRegularly() {
	defer close(r.done)
	tick := time.NewTicker(r.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = r.Flush()
		case <-r.stop:
			return
		}
	}
}

// Driver returns a driver that records the use of d.
func (r *Recorder) Driver(d driver.Driver) driver.Driver { return &recordedDriver{r, d} }

// Connector returns a connector that records the use of c.
func (r *Recorder) Connector(c driver.Connector) driver.Connector {
	return &connector{c, r, &recordedDriver{r, c.Driver()}}
}

// Flush writes the buffer. It returns the error that ended the recording, or nil.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	return r.err
}

// flush writes the buffer and empties it, even if writing fails. After an error or Close, it discards what
// is in the buffer. The caller holds the mutex.
func (r *Recorder) flush() {
	if len(r.buf) > 0 && r.err == nil && !r.closed {
		if _, err := r.w.Write(r.buf); err != nil {
			r.err = fmt.Errorf("record: %w", err)
		}
	}
	r.buf = r.buf[:0]
}

// Err returns the error that ended the recording, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes the buffer and, if Create opened a file, closes the file. After that nothing is recorded.
// It returns the error that ended the recording, or nil.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return r.err
	}
	r.flush()
	r.closed = true
	r.mu.Unlock()
	close(r.stop)
	<-r.done
	if r.file != nil {
		err := r.file.Close()
		r.mu.Lock()
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("record: %w", err)
		}
		r.mu.Unlock()
	}
	return r.Err()
}

// flushIfFull writes the buffer if it has reached its size. The caller holds the mutex.
func (r *Recorder) flushIfFull() {
	if len(r.buf) >= r.options.Buffer {
		r.flush()
	}
}

// now returns the number of nanoseconds since the recording began.
func (r *Recorder) now() int64 { return int64(time.Since(r.began)) }

func (r *Recorder) add(lines []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.closed {
		return
	}
	r.buf = append(r.buf, lines...)
	r.flushIfFull()
}

// statement returns the statement with this SQL. If the SQL is new, statement first records its
// text.
func (r *Recorder) statement(sql string, prepared bool) statement {
	key := text{sql, prepared}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.statements[key]; ok {
		return s
	}
	if len(r.statements) >= maxStatements || r.bytes+len(sql) > maxStatementBytes {
		clear(r.statements)
		r.bytes = 0
	}
	r.numbered++
	s := statement{number: r.numbered}
	s.control, s.savepoint = controlOf(sql)
	if r.err != nil || r.closed {
		return s
	}
	r.statements[key] = s
	r.bytes += len(sql)
	r.buf = appendStatement(r.buf, s.number, sql, prepared)
	r.flushIfFull()
	return s
}
