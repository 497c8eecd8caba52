// Package original has the loops of the program that sqlite3perf grew out of, rewritten for
// database/sql. Its type [Comparison] compares the jobs generate and bench with these loops, in
// benchmarks of the drivers' modules.
package original

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Generate creates the table "bench" and fills it in one goroutine. For each row the loop makes random
// bytes and their hash, and encodes the bytes and the hash in hex. It runs the INSERT when a batch is
// full. Generate returns the time of the loop.
func Generate(db *sql.DB, rows, batch int) (took time.Duration, err error) {
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE bench(ID int PRIMARY KEY ASC, rand TEXT, hash TEXT)"); err != nil {
		return 0, err
	}
	stmt, err := db.Prepare("INSERT INTO bench(ID, rand, hash) VALUES " + strings.Repeat(",(?,?,?)", batch)[1:])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	begin := time.Now()
	value, h := make([]byte, 8), sha256.New()
	args := make([]any, 0, 3*batch)
	for id := range rows {
		if _, err := rand.Read(value); err != nil {
			return 0, err
		}
		h.Reset()
		h.Write(value)
		args = append(args, id, hex.EncodeToString(value), hex.EncodeToString(h.Sum(nil)))
		if len(args) == cap(args) {
			if _, err := stmt.Exec(args...); err != nil {
				return 0, err
			}
			args = args[:0]
		}
	}
	if len(args) > 0 {
		return 0, fmt.Errorf("%d rows are no multiple of %d", rows, batch)
	}
	return time.Since(begin), nil
}

// Verify reads every row, hashes the bytes that the column "rand" encodes, and compares the result
// with the column "hash", in one goroutine. It returns the number of rows and the time since the
// query began.
func Verify(db *sql.DB) (n int64, took time.Duration, err error) {
	begin := time.Now()
	rows, err := db.Query("SELECT * FROM bench")
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	var id int64
	var value, hash string
	h := sha256.New()
	for rows.Next() {
		if err := rows.Scan(&id, &value, &hash); err != nil {
			return n, 0, err
		}
		h.Reset()
		v, err := hex.DecodeString(value)
		if err != nil {
			return n, 0, err
		}
		h.Write(v)
		if hex.EncodeToString(h.Sum(nil)) != hash {
			return n, 0, fmt.Errorf("row %d does not match", id)
		}
		n++
	}
	return n, time.Since(begin), rows.Err()
}
