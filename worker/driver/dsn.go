package driver

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

var dsnKeys = map[string]string{
	"_journal_mode": "journal_mode", "_journal": "journal_mode",
	"_synchronous": "synchronous", "_sync": "synchronous",
	"_busy_timeout": "busy_timeout", "_timeout": "busy_timeout",
	"_foreign_keys": "foreign_keys", "_fk": "foreign_keys",
	"_auto_vacuum": "auto_vacuum", "_vacuum": "auto_vacuum",
	"_locking_mode": "locking_mode", "_locking": "locking_mode",
	"_cache_size":    "cache_size",
	"_secure_delete": "secure_delete",
	"_txlock":        "txlock",
	"mode":           "mode",
	"cache":          "cache",
}

// DSNSetting returns the setting for an option of a data source name (DSN). The option must have
// the spelling of the driver mattn, such as _journal_mode. The result "ok" is false if the option
// is not known.
func DSNSetting(option string) (setting string, ok bool) {
	setting, ok = dsnKeys[option]
	return setting, ok
}

// ParseDSN returns the settings in a data source name (DSN), in the spelling of the driver mattn
// (_journal_mode=wal) or of the driver modernc (_pragma=journal_mode(wal)). It ignores the path
// before the question mark. The error for an unknown option names the nearest known option.
func ParseDSN(dsn string) (Settings, error) {
	s := Settings{}
	_, query, ok := strings.Cut(dsn, "?")
	if !ok {
		return s, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("DSN %q: %w", dsn, err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[key] {
			name, known := dsnKeys[key]
			if key == "_pragma" {
				if name, value, err = SplitPragma(value); err != nil {
					return nil, err
				}
			} else if !known {
				candidates := append(slices.Sorted(maps.Keys(dsnKeys)), "_pragma")
				return nil, fmt.Errorf("unknown DSN option %q: %s", key, Suggest(key, candidates))
			}
			v, err := ParseSetting(name, value)
			if err != nil {
				return nil, fmt.Errorf("DSN option %s: %w", key, err)
			}
			if old, ok := s[name]; ok && old != v {
				return nil, fmt.Errorf("DSN option %s: %s is given twice, as %s and as %s", key, name, old, v)
			}
			s[name] = v
		}
	}
	return s, nil
}

// SplitPragma splits the value of the option _pragma, "name(value)" or "name=value", into the
// name and value of the PRAGMA.
func SplitPragma(p string) (name, value string, err error) {
	if n, rest, ok := strings.Cut(p, "("); ok && strings.HasSuffix(rest, ")") {
		return strings.ToLower(strings.TrimSpace(n)), strings.Trim(rest[:len(rest)-1], ` '"`), nil
	}
	if n, v, ok := strings.Cut(p, "="); ok {
		return strings.ToLower(strings.TrimSpace(n)), strings.Trim(v, ` '"`), nil
	}
	return "", "", fmt.Errorf("DSN option _pragma: bad value %q: want name(value), such as journal_mode(wal)", p)
}
