package rqlite

import (
	"regexp"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The kinds of statements.
const (
	writing       = iota // for a request that the leader puts into the log
	reading              // for a request that is answered without the log, unless the level is strong
	transactional        // begins or ends a transaction
)

// word returns the first word of a statement, in capitals.
func word(sql string) string {
	sql = driver.TrimScript(sql)
	return strings.ToUpper(sql[:len(sql)-len(strings.TrimLeft(sql, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))])
}

var (
	temporary = regexp.MustCompile(`(?i)^CREATE\s+TEMP(ORARY)?\b`)
	pragma    = regexp.MustCompile(`(?i)^PRAGMA\s+(?:\w+\s*\.\s*)?(\w+)\s*([=(])?`)
)

// stored are the PRAGMAs whose value is in the file, so that it is the same for everybody.
var stored = map[string]bool{"user_version": true, "application_id": true}

// nodePragma returns the name of a PRAGMA without a value that is read from the status of
// a node, or "". Some of them rqlite answers for a connection that only reads, and
// journal_mode not at all.
func nodePragma(sql string) string {
	m := pragma.FindStringSubmatch(driver.TrimScript(sql))
	if m == nil || m[2] != "" {
		return ""
	}
	switch name := strings.ToLower(m[1]); name {
	case "journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint", "busy_timeout":
		return name
	}
	return ""
}

// classify returns the kind of a statement. Its error is for what would need a connection,
// or something outside the database of the cluster.
func classify(sql string) (kind int, err error) {
	sql = driver.TrimScript(sql)
	switch word(sql) {
	case "SELECT", "VALUES", "EXPLAIN":
		return reading, nil
	case "WITH":
		if driver.ReturnsRows(sql) && !strings.Contains(strings.ToUpper(sql), "RETURNING") {
			return reading, nil
		}
	case "BEGIN", "COMMIT", "END", "ROLLBACK":
		return transactional, nil
	case "SAVEPOINT", "RELEASE":
		return 0, unsupported("rqlite has no savepoints: a transaction is one request")
	case "ATTACH", "DETACH":
		return 0, unsupported("rqlite has one database: nothing can be attached")
	case "CREATE":
		if temporary.MatchString(sql) {
			return 0, unsupported("rqlite has no connection that a temporary table could belong to")
		}
	case "PRAGMA":
		return classifyPragma(sql)
	}
	return writing, nil
}

func classifyPragma(sql string) (kind int, err error) {
	m := pragma.FindStringSubmatch(sql)
	if m == nil {
		return reading, nil // SQLite says what is wrong
	}
	name := strings.ToLower(m[1])
	def, setting := driver.LookupSetting(name)
	setting = setting && def.Pragma
	switch {
	case name == "wal_checkpoint":
		return 0, unsupported("rqlite checkpoints by itself, and forbids PRAGMA wal_checkpoint")
	case name == "optimize" || name == "incremental_vacuum":
		return writing, nil
	case m[2] == "":
		return reading, nil
	case m[2] == "=" && stored[name]:
		return writing, nil
	case m[2] == "=" || setting:
		return 0, unsupported("rqlite has no connection whose %s a PRAGMA could set", name)
	}
	return reading, nil
}
