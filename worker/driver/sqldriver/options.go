package sqldriver

import (
	"net/url"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Options returns the settings as the options _txlock and _pragma, which several libraries accept
// in a data source name. Values of _pragma are in the order of [driver.Vocabulary].
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
