package sqldriver

import (
	"net/url"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Options returns the settings as the options _txlock and _pragma of a data source
// name. Several libraries have these two, and apply the values of _pragma in the order
// in which they appear. That is the order of [driver.Vocabulary].
func Options(s driver.Settings) url.Values {
	query := url.Values{}
	if lock, ok := s["txlock"]; ok {
		query.Set("_txlock", lock)
	}
	for _, d := range driver.Vocabulary {
		if value, ok := s[d.Name]; ok && d.Pragma {
			query.Add("_pragma", d.Name+"("+value+")")
		}
	}
	return query
}
