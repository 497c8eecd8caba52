package driver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// codeNames has the names of SQLite's result codes, from https://www.sqlite.org/rescode.html, and
// the name of [CodeCanceled].
var codeNames = map[int]string{
	CodeCanceled: "canceled",

	1: "SQLITE_ERROR", 2: "SQLITE_INTERNAL", 3: "SQLITE_PERM", 4: "SQLITE_ABORT",
	5: "SQLITE_BUSY", 6: "SQLITE_LOCKED", 7: "SQLITE_NOMEM", 8: "SQLITE_READONLY",
	9: "SQLITE_INTERRUPT", 10: "SQLITE_IOERR", 11: "SQLITE_CORRUPT", 12: "SQLITE_NOTFOUND",
	13: "SQLITE_FULL", 14: "SQLITE_CANTOPEN", 15: "SQLITE_PROTOCOL", 16: "SQLITE_EMPTY",
	17: "SQLITE_SCHEMA", 18: "SQLITE_TOOBIG", 19: "SQLITE_CONSTRAINT", 20: "SQLITE_MISMATCH",
	21: "SQLITE_MISUSE", 22: "SQLITE_NOLFS", 23: "SQLITE_AUTH", 24: "SQLITE_FORMAT",
	25: "SQLITE_RANGE", 26: "SQLITE_NOTADB", 27: "SQLITE_NOTICE", 28: "SQLITE_WARNING",
	100: "SQLITE_ROW", 101: "SQLITE_DONE",

	257: "SQLITE_ERROR_MISSING_COLLSEQ", 513: "SQLITE_ERROR_RETRY", 769: "SQLITE_ERROR_SNAPSHOT",
	1025: "SQLITE_ERROR_RESERVESIZE", 1281: "SQLITE_ERROR_KEY", 1537: "SQLITE_ERROR_UNABLE",
	516: "SQLITE_ABORT_ROLLBACK",
	261: "SQLITE_BUSY_RECOVERY", 517: "SQLITE_BUSY_SNAPSHOT", 773: "SQLITE_BUSY_TIMEOUT",
	262: "SQLITE_LOCKED_SHAREDCACHE", 518: "SQLITE_LOCKED_VTAB",
	264: "SQLITE_READONLY_RECOVERY", 520: "SQLITE_READONLY_CANTLOCK", 776: "SQLITE_READONLY_ROLLBACK",
	1032: "SQLITE_READONLY_DBMOVED", 1288: "SQLITE_READONLY_CANTINIT", 1544: "SQLITE_READONLY_DIRECTORY",
	266: "SQLITE_IOERR_READ", 522: "SQLITE_IOERR_SHORT_READ", 778: "SQLITE_IOERR_WRITE",
	1034: "SQLITE_IOERR_FSYNC", 1290: "SQLITE_IOERR_DIR_FSYNC", 1546: "SQLITE_IOERR_TRUNCATE",
	1802: "SQLITE_IOERR_FSTAT", 2058: "SQLITE_IOERR_UNLOCK", 2314: "SQLITE_IOERR_RDLOCK",
	2570: "SQLITE_IOERR_DELETE", 2826: "SQLITE_IOERR_BLOCKED", 3082: "SQLITE_IOERR_NOMEM",
	3338: "SQLITE_IOERR_ACCESS", 3594: "SQLITE_IOERR_CHECKRESERVEDLOCK", 3850: "SQLITE_IOERR_LOCK",
	4106: "SQLITE_IOERR_CLOSE", 4362: "SQLITE_IOERR_DIR_CLOSE", 4618: "SQLITE_IOERR_SHMOPEN",
	4874: "SQLITE_IOERR_SHMSIZE", 5130: "SQLITE_IOERR_SHMLOCK", 5386: "SQLITE_IOERR_SHMMAP",
	5642: "SQLITE_IOERR_SEEK", 5898: "SQLITE_IOERR_DELETE_NOENT", 6154: "SQLITE_IOERR_MMAP",
	6410: "SQLITE_IOERR_GETTEMPPATH", 6666: "SQLITE_IOERR_CONVPATH", 6922: "SQLITE_IOERR_VNODE",
	7178: "SQLITE_IOERR_AUTH", 7434: "SQLITE_IOERR_BEGIN_ATOMIC", 7690: "SQLITE_IOERR_COMMIT_ATOMIC",
	7946: "SQLITE_IOERR_ROLLBACK_ATOMIC", 8202: "SQLITE_IOERR_DATA", 8458: "SQLITE_IOERR_CORRUPTFS",
	8714: "SQLITE_IOERR_IN_PAGE", 8970: "SQLITE_IOERR_BADKEY", 9226: "SQLITE_IOERR_CODEC",
	267: "SQLITE_CORRUPT_VTAB", 523: "SQLITE_CORRUPT_SEQUENCE", 779: "SQLITE_CORRUPT_INDEX",
	270: "SQLITE_CANTOPEN_NOTEMPDIR", 526: "SQLITE_CANTOPEN_ISDIR", 782: "SQLITE_CANTOPEN_FULLPATH",
	1038: "SQLITE_CANTOPEN_CONVPATH", 1294: "SQLITE_CANTOPEN_DIRTYWAL", 1550: "SQLITE_CANTOPEN_SYMLINK",
	275: "SQLITE_CONSTRAINT_CHECK", 531: "SQLITE_CONSTRAINT_COMMITHOOK", 787: "SQLITE_CONSTRAINT_FOREIGNKEY",
	1043: "SQLITE_CONSTRAINT_FUNCTION", 1299: "SQLITE_CONSTRAINT_NOTNULL", 1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
	1811: "SQLITE_CONSTRAINT_TRIGGER", 2067: "SQLITE_CONSTRAINT_UNIQUE", 2323: "SQLITE_CONSTRAINT_VTAB",
	2579: "SQLITE_CONSTRAINT_ROWID", 2835: "SQLITE_CONSTRAINT_PINNED", 3091: "SQLITE_CONSTRAINT_DATATYPE",
	279: "SQLITE_AUTH_USER",
	283: "SQLITE_NOTICE_RECOVER_WAL", 539: "SQLITE_NOTICE_RECOVER_ROLLBACK", 795: "SQLITE_NOTICE_RBU",
	284: "SQLITE_WARNING_AUTOINDEX",
}

// CodeOf returns a function that returns the result code of an error. E is a library's type of
// errors, and the parameter "code" returns the result code of an E. For an error that is not an E,
// the returned function returns 0.
func CodeOf[E error](code func(E) int) func(error) int {
	return func(err error) int {
		if e, ok := errors.AsType[E](err); ok {
			return code(e)
		}
		return 0
	}
}

// CodeName returns the name of an extended result code, such as
// SQLITE_BUSY_SNAPSHOT for 517.
func CodeName(code int) string {
	if n, ok := codeNames[code]; ok {
		return n
	}
	if n, ok := codeNames[code&0xff]; ok {
		return fmt.Sprintf("%s (%d)", n, code)
	}
	return fmt.Sprintf("SQLITE_%d", code)
}

// CodeByName returns the result code that has this name, such as 2067 for SQLITE_CONSTRAINT_UNIQUE.
// The result "ok" is false if no code has this name.
func CodeByName(name string) (code int, ok bool) {
	for code, n := range codeNames {
		if n == name {
			return code, true
		}
	}
	return 0, false
}

// CodeNames returns the names of the codes that [MayBeResult] accepts, in the order of the codes.
func CodeNames() []string {
	var list []string
	for _, code := range slices.Sorted(maps.Keys(codeNames)) {
		if MayBeResult(code) {
			list = append(list, codeNames[code])
		}
	}
	return list
}

// IsLock reports whether a code, primary or extended, says that a lock was not granted: SQLITE_BUSY or
// SQLITE_LOCKED.
func IsLock(code int) bool { return code&0xff == CodeBusy || code&0xff == CodeLocked }

// MayBeResult reports whether a statement and its data can cause an error with this code. Only such
// a code can be declared as the result of an operation. Other codes are caused by locks, the file,
// the disk or the machine.
func MayBeResult(code int) bool {
	switch code & 0xff {
	case CodeError, codeTooBig, CodeConstraint, codeMismatch:
		return code > 0
	}
	return false
}
