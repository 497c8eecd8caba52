package tune

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Setting is a setting with the values that the search tries.
type Setting struct {
	Name   string
	Values []string // values in canonical form

	// Needs has other settings without which this setting has no effect.
	Needs driver.Settings
}

// Skipped is a setting, or a value of a setting, that the search does not try.
type Skipped struct {
	Setting string `json:"setting"` // setting or value, such as "mmap_size" or "mmap_size=0"
	Why     string `json:"why"`
}

// Names are the settings that a search can try, the most promising first.
var Names = []string{"journal_mode", "synchronous", "cache_size", "page_size", "mmap_size", "txlock", "pool_size", "pool_readers", "wal_autocheckpoint", "temp_store"}

// Situation describes a workload with today's settings. It decides which values are worth trying.
type Situation struct {
	InForce       driver.Settings // settings in force, read back where possible
	DatabaseBytes float64         // size of the largest database
	Most          int             // the worst loss of data that may be risked, numbered as in [Search.Loss]
	OnlyReads     bool            // no timed phase writes

	// Cannot returns why a value cannot be tried here. It returns "" if the value can be tried.
	Cannot func(name, value string) string
}

// Space returns the values of the named settings that are worth trying. The values in the parameter "given"
// replace the usual ones.
func Space(at Situation, names []string, given map[string][]string) (space []Setting, skipped []Skipped) {
	for _, name := range Names {
		if !slices.Contains(names, name) {
			continue
		}
		values, why := given[name], ""
		if values == nil {
			values, why = at.values(name)
		}
		s := Setting{Name: name}
		if name == "wal_autocheckpoint" {
			s.Needs = driver.Settings{"journal_mode": "wal"}
		}
		for _, v := range values {
			if v == at.InForce[name] {
				continue
			}
			if cannot := at.Cannot(name, v); cannot != "" {
				skipped = append(skipped, Skipped{name + "=" + v, cannot})
				why = ""
				continue
			}
			s.Values = append(s.Values, v)
		}
		switch {
		case s.Values != nil:
			space = append(space, s)
		case why != "":
			skipped = append(skipped, Skipped{name, why})
		}
	}
	return space, skipped
}

// The map "usual" has the values that a search tries. The map "risky" has further values, which are
// tried only if the search may risk losing the database.
var usual, risky = map[string][]string{
	"journal_mode": {"wal", "truncate", "delete"}, "synchronous": {"normal", "full"}, "page_size": {"4096", "8192", "16384"},
	"wal_autocheckpoint": {"4000", "250"}, "temp_store": {"memory"},
}, map[string][]string{"journal_mode": {"memory", "off"}, "synchronous": {"off"}}

// values returns the values of a setting that are worth trying, or the reason why there are none.
func (at *Situation) values(name string) (values []string, why string) {
	if at.OnlyReads && slices.Contains([]string{"synchronous", "txlock", "wal_autocheckpoint"}, name) {
		return nil, "no timed phase writes"
	}
	n := at.InForce.PoolSize()
	switch name {
	case "cache_size":
		return at.cacheSizes()
	case "mmap_size":
		mapped := int64(256 << 20)
		for float64(mapped) < at.DatabaseBytes {
			mapped *= 4
		}
		return []string{strconv.FormatInt(mapped, 10)}, ""
	case "txlock":
		switch {
		case n == 1:
			return nil, "there is only one connection, so no other can hold a lock"
		case at.InForce["txlock"] != "":
			return []string{"immediate", "deferred"}, ""
		}
		return []string{"immediate"}, ""
	case "pool_size", "pool_readers":
		if n == 1 {
			return nil, "one client needs one connection"
		}
		if name == "pool_readers" {
			return []string{strconv.Itoa(n)}, ""
		}
		for size := 1; size < n; size *= 2 {
			values = append(values, strconv.Itoa(size))
		}
		return values, ""
	}
	if at.Most >= conditions.DatabaseLost {
		return slices.Concat(usual[name], risky[name]), ""
	}
	return usual[name], ""
}

// cacheSizes returns the sizes of the page cache to try. They are greater than today's size, and end with
// the first size that holds the entire database. The smallest of them is tried even if today's cache already
// holds the database, because sorting also uses the cache.
func (at *Situation) cacheSizes() (values []string, why string) {
	today := cacheBytes(at.InForce)
	for _, kib := range []int64{16 << 10, 64 << 10, 256 << 10, 1 << 20} {
		bytes := float64(kib << 10)
		if bytes <= today {
			continue
		}
		values = append(values, strconv.FormatInt(-kib, 10))
		if bytes >= at.DatabaseBytes {
			break
		}
	}
	if values == nil {
		why = fmt.Sprintf("it is %s already", at.InForce["cache_size"])
	}
	return values, why
}

// cacheBytes returns the size of the page cache with the given settings, in bytes.
func cacheBytes(s driver.Settings) float64 {
	n, err := strconv.ParseInt(s["cache_size"], 10, 64)
	if err != nil {
		n = -2000
	}
	if n < 0 {
		return float64(-n << 10)
	}
	page, err := strconv.ParseInt(s["page_size"], 10, 64)
	if err != nil {
		page = 4096
	}
	return float64(n * page)
}
