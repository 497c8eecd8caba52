package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// Reason returns the cause of an error without the path, for messages that have the path already.
func Reason(err error) error {
	if pe, ok := err.(*os.PathError); ok { //nolint:errorlint // package os returns this error without wrapping it
		return pe.Err
	}
	return err
}

// MaxOwn is the limit in bytes for reading files of sqlite3perf, which writes no larger files.
const MaxOwn = 1 << 30

// Sum returns the SHA-256 of data in hex.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
