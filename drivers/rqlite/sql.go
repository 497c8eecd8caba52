package rqlite

import (
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The kinds of statements.
const (
	writing       = iota // the leader puts the request into Raft's log
	reading              // the request is answered without the log, unless the level of consistency is strong
	transactional        // the statement begins or ends a transaction
)

// cutWord returns the first word of a statement, in capitals, and the text after it. It skips
// comments before the word.
func cutWord(sql string) (word, rest string) {
	sql = driver.TrimScript(sql)
	rest = strings.TrimLeft(sql, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
	return strings.ToUpper(sql[:len(sql)-len(rest)]), rest
}

func firstWord(sql string) string {
	w, _ := cutWord(sql)
	return w
}

// pragmaOf returns the name of a PRAGMA, in small letters, and the character that precedes its
// value: "=", "(", or "" if it has no value.
func pragmaOf(sql string) (name, value string) {
	_, rest := cutWord(sql)
	name, rest = cutWord(rest)
	if rest = driver.TrimScript(rest); strings.HasPrefix(rest, ".") { // name is the name of a schema, as in PRAGMA main.user_version
		name, rest = cutWord(rest[1:])
	}
	for _, v := range []string{"=", "("} {
		if strings.HasPrefix(driver.TrimScript(rest), v) {
			value = v
		}
	}
	return strings.ToLower(name), value
}

// storedPragmas are the PRAGMAs whose value is stored in the file. So all connections have the
// same value.
var storedPragmas = map[string]bool{"user_version": true, "application_id": true}

// nodePragma returns the name of the PRAGMA in sql if sql only reads that PRAGMA and the answer
// must come from a node's status. Otherwise it returns "". rqlite answers some of these PRAGMAs
// from a connection that only reads, and does not answer journal_mode.
func nodePragma(sql string) string {
	if firstWord(sql) != "PRAGMA" {
		return ""
	}
	name, value := pragmaOf(sql)
	if value != "" {
		return ""
	}
	switch name {
	case "journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint", "busy_timeout":
		return name
	}
	return ""
}

// classify returns the kind of a statement. It returns an error for a statement that needs a
// connection, or reaches outside the cluster's database.
func classify(sql string) (kind int, err error) {
	first, rest := cutWord(sql)
	switch first {
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
		if second := firstWord(rest); second == "TEMP" || second == "TEMPORARY" {
			return 0, unsupported("rqlite has no connection that a temporary table could belong to")
		}
	case "PRAGMA":
		return classifyPragma(sql)
	}
	return writing, nil
}

func classifyPragma(sql string) (kind int, err error) {
	name, value := pragmaOf(sql)
	def, setting := driver.LookupSetting(name)
	setting = setting && def.Pragma
	switch {
	case name == "wal_checkpoint":
		return 0, unsupported("rqlite checkpoints by itself, and forbids PRAGMA wal_checkpoint")
	case name == "optimize" || name == "incremental_vacuum":
		return writing, nil
	case value == "":
		return reading, nil
	case value == "=" && storedPragmas[name]:
		return writing, nil
	case value == "=" || setting:
		return 0, unsupported("rqlite has no connection whose %s a PRAGMA could set", name)
	}
	return reading, nil
}
