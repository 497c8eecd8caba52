package dsn

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// kind is the type of a pragma's value, for pragmas that are not in driver.Vocabulary.
type kind int

const (
	unreadable kind = iota // reading the pragma returns nothing, or another value than was set
	boolean
	integer
	word
)

// pragmas has the pragmas that are not in the vocabulary of settings: the pragmas of SQLite
// (https://www.sqlite.org/pragma.html) and the pragmas of its encrypted editions.
var pragmas = func() map[string]kind {
	all := map[string]kind{}
	for i, names := range []string{
		unreadable: `cache_spill count_changes data_store_directory default_cache_size empty_result_callbacks full_column_names
			incremental_vacuum integrity_check optimize quick_check schema_version short_column_names shrink_memory temp_store_directory
			wal_checkpoint key rekey hexkey hexrekey textkey textrekey cipher cipher_compatibility cipher_page_size kdf_iter legacy`,
		boolean: `automatic_index case_sensitive_like cell_size_check checkpoint_fullfsync defer_foreign_keys fullfsync
			ignore_check_constraints legacy_alter_table query_only read_uncommitted recursive_triggers reverse_unordered_selects
			trusted_schema writable_schema`,
		integer: "analysis_limit application_id hard_heap_limit journal_size_limit max_page_count soft_heap_limit threads user_version",
		word:    "encoding",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = kind(i)
		}
	}
	return all
}()

// aliases maps options of the driver mattn to the pragmas that they set. It has only pragmas that are not in
// driver.Vocabulary.
var aliases = map[string]string{
	"_case_sensitive_like": "case_sensitive_like", "_cslike": "case_sensitive_like",
	"_defer_foreign_keys": "defer_foreign_keys", "_defer_fk": "defer_foreign_keys",
	"_ignore_check_constraints": "ignore_check_constraints", "_query_only": "query_only",
	"_recursive_triggers": "recursive_triggers", "_rt": "recursive_triggers", "_writable_schema": "writable_schema",
}

// others lists options whose effect no pragma shows: SQLite's own URI parameters, and options of
// single libraries.
var others = []string{
	"immutable", "nolock", "psow", "modeof", "vfs", // SQLite's own: https://www.sqlite.org/uri.html
	"_loc", "_mutex", "_stmt_cache_size", "_auth", "_auth_user", "_auth_pass", "_auth_crypt", "_auth_salt", // options of the driver mattn
	"_time_format", "_time_integer_format", "_inttotime", "_texttotime", "_timezone", "_dqs", "_defensive", "_error_rc", // options of the driver modernc
	"_timefmt",                                                                    // option of the driver ncruces
	"_pragma_key", "_pragma_cipher_page_size", "_crypt", "_key", "_cipher", "key", // options of encrypted editions of SQLite
}

// vocabularyKeys are the options that driver.DSNSetting knows. They are suggested for misspelled
// options.
var vocabularyKeys = []string{
	"_journal_mode", "_journal", "_synchronous", "_sync", "_busy_timeout", "_timeout", "_foreign_keys", "_fk",
	"_auto_vacuum", "_vacuum", "_locking_mode", "_locking", "_cache_size", "_secure_delete", "_txlock", "mode", "cache",
}

func keys() []string {
	return slices.Concat(vocabularyKeys, slices.Sorted(maps.Keys(aliases)), others, []string{"_pragma"})
}

// secret matches names of options and pragmas whose value is never shown.
var secret = regexp.MustCompile(`(?i)(^|_|hex|text|re)key$|pass|pwd|secret|token|salt|_crypt$`)

// observed are the options whose effect a worker observes by other means than pragmas.
var observed = []string{"immutable", "nolock"}

// interpret finds the setting that an option sets, and describes likely mistakes.
func (o *Option) interpret() error {
	if secret.MatchString(o.Key) {
		o.secret = o.Value
	}
	setting, known := driver.DSNSetting(o.Key)
	value := o.Value
	switch {
	case known:
	case aliases[o.Key] != "":
		setting = aliases[o.Key]
	case o.Key == "_pragma":
		name, v, err := driver.SplitPragma(o.Value)
		if err != nil {
			o.Problem = "want _pragma=name(value), such as _pragma=journal_mode(wal)"
			return nil
		}
		if secret.MatchString(name) {
			o.secret = v
		}
		if !pragmaName.MatchString(name) {
			return fmt.Errorf("option _pragma: %q is not the name of a pragma: want such as _pragma=journal_mode(wal)", name)
		}
		setting, value = name, v
		if _, ok := driver.LookupSetting(name); !ok && !isPragma(name) {
			o.Problem = fmt.Sprintf("SQLite has no pragma %s, and ignores unknown pragmas", name)
			if meant := driver.DidYouMean(name, pragmaNames()); meant != "" {
				o.Problem += ": " + meant
			}
		}
	case slices.Contains(observed, o.Key):
		setting = o.Key
	case !slices.Contains(others, o.Key):
		o.Problem = "no library here is known to have this option"
		meant := driver.Nearest(o.Key, keys())
		if name := "_" + o.Key; slices.Contains(keys(), name) {
			meant = name
		} else if name := strings.TrimPrefix(o.Key, "_"); slices.Contains(pragmaNames(), name) {
			meant = "_pragma=" + name + "(" + o.Value + ")"
		}
		if meant != "" {
			o.Problem += ": " + driver.Meant(meant)
		}
		return nil
	}
	o.Setting = setting
	wanted, err := canonical(setting, value)
	if err != nil {
		o.Problem = err.Error()
	}
	o.Wanted = wanted
	return nil
}

var pragmaName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func isPragma(name string) bool {
	_, ok := pragmas[name]
	return ok
}

func pragmaNames() (names []string) {
	for _, d := range driver.Vocabulary {
		if d.Pragma {
			names = append(names, d.Name)
		}
	}
	return append(names, slices.Sorted(maps.Keys(pragmas))...)
}

func readable(setting string) bool { return pragmas[setting] != unreadable }

// canonical returns a value in canonical form, so that equal values can be compared. It returns ""
// if the value of the setting cannot be read back.
func canonical(setting, value string) (string, error) {
	if d, ok := driver.LookupSetting(setting); ok {
		return d.Canonical(value)
	}
	v := strings.ToLower(strings.TrimSpace(value))
	k := pragmas[setting]
	if slices.Contains(observed, setting) {
		k = boolean
	}
	switch k {
	case boolean:
		switch v {
		case "1", "on", "true", "yes":
			return "on", nil
		case "0", "off", "false", "no":
			return "off", nil
		}
		return "", fmt.Errorf("%s: bad value %q: want on or off", setting, value)
	case integer:
		if _, err := strconv.ParseInt(v, 0, 64); err != nil {
			return "", fmt.Errorf("%s: bad value %q: want a whole number", setting, value)
		}
		return v, nil
	case word:
		return v, nil
	}
	return "", nil
}

// alternatives has, for some settings, two valid values. The function [another] returns the value that
// differs from a given value.
var alternatives = map[string][2]string{
	"journal_mode": {"wal", "truncate"}, "mode": {"ro", "memory"}, "txlock": {"immediate", "exclusive"},
	"mmap_size": {"1048576", "2097152"}, "encoding": {"utf-8", "utf-16le"},
}

// The function "another" returns a value of the setting that differs from the given value. It returns
// "" if it knows no such value. A library that applies both values must read the option, because only
// one of them can be its default.
func another(setting, value string) string {
	if pair, ok := alternatives[setting]; ok {
		if value == pair[0] {
			return pair[1]
		}
		return pair[0]
	}
	if setting == "page_size" {
		n, _ := strconv.Atoi(value)
		if n == 65536 { // the greatest page size
			n /= 4
		}
		return strconv.Itoa(2 * n)
	}
	if d, ok := driver.LookupSetting(setting); ok && d.Values != nil {
		i := slices.Index(d.Values, value)
		return d.Values[(i+1)%len(d.Values)]
	}
	switch value {
	case "on":
		return "off"
	case "off":
		return "on"
	}
	if n, err := strconv.ParseInt(value, 0, 64); err == nil {
		return strconv.FormatInt(n+1, 10)
	}
	return ""
}

func (o *Option) set(value string) string {
	if o.Key == "_pragma" {
		return "_pragma=" + o.Setting + "(" + value + ")"
	}
	return o.Key + "=" + value
}

// nonsense returns the option with a value that no library should accept.
func (o *Option) nonsense() string {
	if o.Key == "_pragma" {
		return "_pragma=sqlite3perf+nonsense("
	}
	return o.Key + "=sqlite3perf-nonsense"
}
