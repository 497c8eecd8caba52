package snapshot

import (
	"regexp"
	"strings"
)

// usualWords are words that occur in messages of SQLite, of database/sql and of workers.
const usualWords = `
not an error SQL logic access permission denied query aborted database is locked table out of memory attempt to write a readonly
interrupted disk I O image malformed unknown operation or full unable open file locking protocol contains no data schema has changed
string blob too big constraint failed datatype mismatch bad parameter other API misuse authorization column index range notification
row rows available abort due ROLLBACK busy extended result code near syntax such function module collation sequence unrecognized token
incomplete input UNIQUE NOT NULL CHECK FOREIGN KEY PRIMARY JSON path integer overflow wrong number arguments aggregate ambiguous name
columns but values were supplied already exists cannot start transaction within active commit statements in progress fts5 fts4 fts3
special parse parser stack expression tree large maximum depth LIKE GLOB pattern complex many terms attached databases max STRICT store
TEXT INTEGER REAL BLOB ANY type value text real int bool time null sql Scan on converting driver Value int64 float64 uint8 Time
unsupported storing into invalid parsing strconv ParseInt ParseFloat ParseBool context deadline exceeded canceled operation phase
closing reading expected returned declared got want panic runtime worker the of with was are and for by at from its it that this
sqlite sqlite3 sqinn stmt conn exec prepare step bind
count_syncs syncs counted cold_caches dropped emptying caches seccomp old kernels lack no_new_privs containers forbid may here proc self io count writes
PRAGMA quick_check integrity_check foreign_key_check checksum mismatch corruption found missing differ values entries entry unique page freelist tree cell
cannot be given source making observing pool_idle set inserting preparing INSERT does work user s settings has word which may reach files
refuse only answer request one mix succeeded reads ends end so if declare results check hung ended own no under way opening checking
looking wait profiling pool readers taking connection after probing mode second time observe txlock cache begin execution verifying
replay known event lab gone order want processes nobody gives orders load had came between stop back writing loaded there further
process trial opens first made makes begins been size checkpoint blocked still writes rolled whole RAISE do write ABORT
malformed inverted index VmHWM statement tables nothing clients requests workload sqlite3perf as
`

var (
	anyWord     = regexp.MustCompile(`[\pL\pN_]+`)
	quotations  = []*regexp.Regexp{regexp.MustCompile(`(?s)'.*'`), regexp.MustCompile(`(?s)".*"`), regexp.MustCompile(`(?s)\[.*\]`)}
	hiddenWords = regexp.MustCompile(`…( *…)+`)
)

// Public removes private values from a message about SQL on the database. Messages of SQLite and of
// libraries can contain values, such as "bad JSON path: '…'". Public keeps a word only if it is in the
// SQL, in the database's schema or in usualWords, or is the name of a result code. It keeps quoted text
// only if that is in the SQL or the schema.
func (s *Snapshot) Public(message string, sql ...string) string {
	known := map[string]bool{}
	for _, text := range append(append([]string{usualWords}, sql...), s.Schema...) {
		for _, w := range anyWord.FindAllString(text, -1) {
			known[strings.ToLower(w)] = true
		}
	}
	for _, q := range quotations {
		message = q.ReplaceAllStringFunc(message, func(text string) string {
			for _, in := range append(sql, s.Schema...) {
				if strings.Contains(in, text[1:len(text)-1]) {
					return text
				}
			}
			return text[:1] + "…" + text[len(text)-1:]
		})
	}
	message = anyWord.ReplaceAllStringFunc(message, func(w string) string {
		if known[strings.ToLower(w)] || codeName.MatchString(w) {
			return w
		}
		return "…"
	})
	return hiddenWords.ReplaceAllString(message, "…")
}

// codeName matches the name of a result code of SQLite.
var codeName = regexp.MustCompile(`^SQLITE_[A-Z_]+$`)
