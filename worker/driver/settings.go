package driver

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// Settings maps the name of a setting to its value in canonical form, as [ParseSetting]
// returns it. The library's default applies to a setting without a value.
type Settings map[string]string

// SettingKind is the kind of the values of a setting.
type SettingKind int

// The kinds of values.
const (
	enumValue     SettingKind = iota // one of the words in the field Values
	integerValue                     // a whole number
	sizeValue                        // a number of bytes, such as 4096, 64KiB or 1GiB
	durationValue                    // a time, such as 5000 (milliseconds) or 5s
)

// SettingDef defines one setting of the vocabulary.
type SettingDef struct {
	Name   string
	About  string
	Kind   SettingKind
	Values []string // the allowed words of an enum; the index of a word is SQLite's number for it
	Min    int64    // the least allowed number, if the setting is not an enum
	Tried  []string // values to try in tests, in canonical form, for a PRAGMA that is not an enum
	Pragma bool     // true if PRAGMA Name sets the setting and reads it back; otherwise the setting is set when the database is opened
	Shown  bool     // set if the setting is not a PRAGMA, but every worker that supports it can show that it took effect

	// Cluster is set if only drivers of the kind [Cluster] have the setting. Other drivers are
	// measured without it.
	Cluster bool
}

// Vocabulary lists every setting, in the order in which they are applied: page_size and auto_vacuum
// must come before anything that writes the database's header, and busy_timeout must come before
// anything that locks.
var Vocabulary = []SettingDef{
	{Name: "mode", About: "how the file is opened", Values: []string{"rwc", "rw", "ro", "memory"}},
	{Name: "cache", About: "page cache, shared between connections or not", Values: []string{"private", "shared"}},
	{Name: "pool_size", About: "connections in the pool", Kind: integerValue, Min: 1},
	{Name: "pool_idle", About: "connections of the pool that stay open while idle; default: all", Kind: integerValue, Shown: true},
	{Name: "pool_readers", About: "connections of a second pool, for operations of a mix that only read; all other operations then use a pool of pool_size connections; default: 0, one pool", Kind: integerValue, Shown: true},
	{Name: "write_mutex", About: "hold a mutex of the application around each operation of a mix that may write", Values: []string{"off", "on"}, Shown: true},
	{Name: "processes", About: "processes that share the clients of a mix; each has its own pools; default: 1", Kind: integerValue, Min: 1, Shown: true},
	{Name: "count_syncs", About: "count syncs and writes of files while the clock runs, which makes each sync a little slower; only on Linux", Values: []string{"off", "on"}, Shown: true},
	{Name: "cold_caches", About: "drop the database from the system's page cache, and from SQLite's, before each timed phase; only on Linux", Values: []string{"off", "on"}, Shown: true},
	{Name: "nodes", About: "nodes of a cluster", Values: []string{"1", "3", "5"}, Shown: true, Cluster: true},
	{Name: "read_consistency", About: "what a read of a cluster may miss", Values: []string{"none", "weak", "linearizable", "strong"}, Shown: true, Cluster: true},
	{Name: "queued_writes", About: "have a cluster acknowledge writes before they are done", Values: []string{"off", "on"}, Shown: true, Cluster: true},
	{Name: "request_rows", About: "maximum number of rows in a request to a cluster; each request is a transaction; default: 0, all rows of a transaction", Kind: integerValue, Shown: true, Cluster: true},
	{Name: "node_delay", About: "delay of every byte between two nodes of a cluster, in each direction; default: they connect directly", Kind: durationValue, Shown: true, Cluster: true},
	{Name: "txlock", About: "how a transaction begins", Values: []string{"deferred", "immediate", "exclusive"}},
	{Name: "busy_timeout", About: "how long to wait for a lock", Kind: durationValue, Tried: []string{"0", "1234"}, Pragma: true},
	{Name: "page_size", About: "bytes per page", Kind: sizeValue, Min: 512, Tried: []string{"512", "8192", "65536"}, Pragma: true},
	{Name: "auto_vacuum", About: "give free pages back to the file system", Values: []string{"none", "full", "incremental"}, Pragma: true},
	{Name: "locking_mode", About: "keep the file locked between transactions or not", Values: []string{"normal", "exclusive"}, Pragma: true},
	{Name: "journal_mode", About: "rollback journal or write-ahead log", Values: []string{"delete", "truncate", "persist", "memory", "wal", "off"}, Pragma: true},
	{Name: "synchronous", About: "when to wait for the disk", Values: []string{"off", "normal", "full", "extra"}, Pragma: true},
	{Name: "foreign_keys", About: "enforce REFERENCES", Values: []string{"off", "on"}, Pragma: true},
	{Name: "cache_size", About: "page cache in pages, or in KiB if negative: -65536 is 64 MiB", Kind: integerValue, Min: -1 << 31, Tried: []string{"100", "-3000"}, Pragma: true},
	{Name: "mmap_size", About: "bytes of the file to map into memory", Kind: sizeValue, Tried: []string{"0", "1048576"}, Pragma: true},
	{Name: "temp_store", About: "where temporary tables go", Values: []string{"default", "file", "memory"}, Pragma: true},
	{Name: "wal_autocheckpoint", About: "pages in the WAL that start a checkpoint, 0: never", Kind: integerValue, Tried: []string{"0", "77"}, Pragma: true},
	{Name: "secure_delete", About: "overwrite deleted content with zeros", Values: []string{"off", "on", "fast"}, Pragma: true},
}

// Examples returns canonical values with which to try a setting: all values of an enum, and
// some values of a number that is set by PRAGMA.
func (d SettingDef) Examples() []string {
	if d.Values != nil {
		return d.Values
	}
	return d.Tried
}

// LookupSetting finds a setting of the vocabulary by its name.
func LookupSetting(name string) (SettingDef, bool) {
	i := slices.IndexFunc(Vocabulary, func(d SettingDef) bool { return d.Name == name })
	if i < 0 {
		return SettingDef{}, false
	}
	return Vocabulary[i], true
}

// Nearest returns the candidate that the user probably meant by the parameter "name". If only one
// candidate begins with this name, Nearest returns it. Otherwise it returns the candidate that
// differs from the name by the fewest edits. Nearest returns "" if no candidate is near.
func Nearest(name string, candidates []string) string {
	if len(name) > 100 { // such a long name is not a typing mistake
		return ""
	}
	if i := slices.IndexFunc(candidates, begins(name)); i >= 0 && len(name) > 1 && !slices.ContainsFunc(candidates[i+1:], begins(name)) {
		return candidates[i]
	}
	best, least := "", max((min(len(name), 3)+1)/2, len(name)/2)+1
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

func begins(prefix string) func(string) bool {
	return func(word string) bool { return strings.HasPrefix(strings.ToLower(word), strings.ToLower(prefix)) }
}

// DidYouMean returns a question that suggests the candidate nearest to a name, or "" if no
// candidate is near.
func DidYouMean(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return Meant(n)
	}
	return ""
}

// Meant returns the question "did you mean X?". X is the parameter "what", in quotes.
func Meant(what string) string { return fmt.Sprintf("did you mean %q?", what) }

// Suggest returns the end of an error message about an unknown name. It is a question that suggests the
// nearest candidate. If no candidate is near, it is a list of up to 20 candidates.
func Suggest(name string, candidates []string) string {
	if len(candidates) == 0 {
		return "there are none"
	}
	return cmp.Or(DidYouMean(name, candidates), "known are "+strings.Join(candidates[:min(len(candidates), 20)], ", "))
}

// Want describes in words the values that a setting accepts.
func (d SettingDef) Want() string {
	switch {
	case d.Kind == enumValue:
		return "one of " + strings.Join(d.Values, ", ")
	case d.Kind == durationValue:
		return "milliseconds, or a duration such as 5s"
	case d.Name == "page_size":
		return "a power of two from 512 to 65536"
	case d.Kind == sizeValue:
		return fmt.Sprintf("bytes, at least %d, such as 4096 or 64MiB", d.Min)
	}
	return fmt.Sprintf("a whole number, at least %d", d.Min)
}

// ParseSetting checks a setting and returns its value in canonical form: a word in lower case for
// an enum, milliseconds for a duration, bytes for a size.
func ParseSetting(name, value string) (string, error) {
	d, ok := LookupSetting(name)
	if !ok {
		names := make([]string, len(Vocabulary))
		for i := range names {
			names[i] = Vocabulary[i].Name
		}
		return "", fmt.Errorf("unknown setting %q: %s", name, Suggest(name, names))
	}
	return d.Canonical(value)
}

// Canonical returns a value in canonical form, in which values can be compared as text. The value
// may come from a user or from SQLite.
func (d SettingDef) Canonical(value string) (string, error) {
	v := strings.ToLower(strings.TrimSpace(value))
	bad := fmt.Errorf("setting %s: bad value %q: want %s", d.Name, value, d.Want())
	switch d.Kind {
	case enumValue:
		if slices.Contains(d.Values, v) {
			return v, nil
		}
		if d.Pragma && d.Name != "journal_mode" && d.Name != "locking_mode" {
			if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < len(d.Values) {
				return d.Values[n], nil
			}
		}
		if word := map[string]string{"true": "on", "yes": "on", "false": "off", "no": "off"}[v]; word != "" && slices.Contains(d.Values, "on") {
			return word, nil
		}
		return "", bad
	case durationValue:
		if dur, err := time.ParseDuration(v); err == nil && dur >= 0 {
			return strconv.FormatInt(dur.Milliseconds(), 10), nil
		}
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return "", bad
		}
		return strconv.FormatInt(n, 10), nil
	case sizeValue:
		n, err := ParseSize(v)
		if err != nil || n < d.Min || d.Name == "page_size" && (n > 65536 || n&(n-1) != 0) {
			return "", bad
		}
		return strconv.FormatInt(n, 10), nil
	default:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < d.Min {
			return "", fmt.Errorf("%w (%s)", bad, d.About)
		}
		return strconv.FormatInt(n, 10), nil
	}
}

// ParseSize reads a number of bytes: plain, or with KiB, MiB or GiB.
func ParseSize(s string) (int64, error) {
	shift := 0
	t := strings.ToLower(strings.TrimSpace(s))
	for i, unit := range []string{"kib", "mib", "gib"} {
		if rest, ok := strings.CutSuffix(t, unit); ok {
			t, shift = strings.TrimSpace(rest), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("bad size %q: want bytes, such as 4096 or 64MiB", s)
	}
	return n << shift, nil
}

// With returns a copy of s to which the settings in "over" are added. They replace settings of the
// same name.
func (s Settings) With(over Settings) Settings {
	r := maps.Clone(s)
	if r == nil {
		r = Settings{}
	}
	maps.Copy(r, over)
	return r
}

// number returns a setting as a number. It returns the parameter "otherwise" if the setting is not
// a number, or is less than the parameter "least".
func (s Settings) number(name string, least, otherwise int) int {
	if n, err := strconv.Atoi(s[name]); err == nil && n >= least {
		return n
	}
	return otherwise
}

// PoolSize returns the setting pool_size, or 1 if it is not set.
func (s Settings) PoolSize() int { return s.number("pool_size", 1, 1) }

// PoolReaders returns the setting pool_readers, the number of connections of the second pool,
// which only reads. It returns 0 if there is no second pool.
func (s Settings) PoolReaders() int { return s.number("pool_readers", 1, 0) }

// Processes returns the setting "processes": the number of processes that share the clients of a
// mix. It returns 1 if the setting is not set.
func (s Settings) Processes() int { return s.number("processes", 1, 1) }

// Connections returns how many connections all pools of a process have.
func (s Settings) Connections() int { return s.PoolSize() + s.PoolReaders() }

// PoolIdle returns how many connections of the pool stay open while they are idle. This is the setting
// pool_idle. If it is not set, or is greater than the pool's size, all connections stay open.
func (s Settings) PoolIdle() int { return min(s.number("pool_idle", 0, s.PoolSize()), s.PoolSize()) }

// Begin returns the statement that begins a transaction in the mode of the setting txlock.
func (s Settings) Begin() string {
	if l := s["txlock"]; l != "" {
		return "BEGIN " + strings.ToUpper(l)
	}
	return "BEGIN"
}

// Pragmas returns the PRAGMA statements that apply the settings to a
// connection, in the order in which they must run.
func (s Settings) Pragmas() []string {
	var list []string
	for _, d := range Vocabulary {
		if v, ok := s[d.Name]; ok && d.Pragma {
			list = append(list, "PRAGMA "+d.Name+"="+v)
		}
	}
	return list
}

// URI returns a path as an SQLite URI file name with the settings "mode" and "cache". The parameter
// "extra" has further query parameters, which only the library knows.
func (s Settings) URI(path string, extra url.Values) string {
	q := url.Values{}
	maps.Copy(q, extra)
	for _, name := range []string{"mode", "cache"} {
		if v, ok := s[name]; ok {
			q.Set(name, v)
		}
	}
	u := "file:" + (&url.URL{Path: path}).EscapedPath()
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	return u
}

// Mismatch is a setting that did not take effect.
type Mismatch struct {
	Setting string `json:"setting"`
	Wanted  string `json:"wanted"`
	Got     string `json:"got"`
}

func (m Mismatch) String() string {
	return fmt.Sprintf("%s: wanted %s, got %s", m.Setting, m.Wanted, m.Got)
}

// Differences finds the first connection that has settings other than the wanted ones, and
// describes these settings. It returns "" if there is no such connection. The function "why", which
// may be nil, returns the reason why a driver cannot apply a setting's value, as [Info.Limit] does.
func Differences(wanted Settings, connections []Settings, why func(setting, value string) (string, bool)) string {
	for i, got := range connections {
		var words []string
		for _, m := range Check(wanted, got) {
			word := m.String()
			if why != nil {
				if reason, ok := why(m.Setting, m.Wanted); ok {
					word += " (" + reason + ")"
				}
			}
			words = append(words, word)
		}
		if words != nil {
			return fmt.Sprintf("%s, on connection %d of %d", strings.Join(words, "; "), i+1, len(connections))
		}
	}
	return ""
}

// Check compares the wanted settings with those in the parameter "got", which were read back from one
// connection. A setting that cannot be read back is not in "got". Such a setting is a mismatch only if
// its [SettingDef] has Pragma or Shown set.
func Check(wanted, got Settings) []Mismatch {
	var list []Mismatch
	for _, d := range Vocabulary {
		w, ok := wanted[d.Name]
		if !ok {
			continue
		}
		g, read := got[d.Name]
		if !read && !d.Pragma && !d.Shown {
			continue
		}
		if !read {
			g = "nothing"
		}
		if g != w {
			list = append(list, Mismatch{d.Name, w, g})
		}
	}
	return list
}
