package tune

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// loss returns the worst loss of data that the settings with these changes can cause in any phase. Losses
// are numbered as in [Search.Loss].
func (s *Search) loss(changes driver.Settings) (worst int) {
	for _, f := range s.forces {
		worst = max(worst, s.Loss(f.With(changes)))
	}
	return worst
}

// allowed reports whether changes risk no greater loss of data than s.Most. If the present settings risk
// a greater loss than s.Most, the changes may risk that loss too.
func (s *Search) allowed(changes driver.Settings) bool {
	return !slices.ContainsFunc(s.forces, func(f driver.Settings) bool {
		return s.Loss(f.With(changes)) > max(s.Most, s.Loss(f))
	})
}

// grid returns the number of allowed combinations of all values. It does not count combinations in
// which a setting has no effect.
func (s *Search) grid() int {
	all := []driver.Settings{{}}
	for _, x := range s.space {
		for _, c := range all {
			for _, v := range x.Values {
				all = append(all, c.With(driver.Settings{x.Name: v}))
			}
		}
		if len(all) > 1<<16 {
			return len(all) // the number is so great that it need not be exact
		}
	}
	return len(slices.DeleteFunc(all, func(c driver.Settings) bool { return !s.allowed(c) || len(s.normal(c)) < len(c) }))
}

// normal returns the changes without those that have no effect. A change has no effect if its value
// is in force anyway, or if the setting depends on another setting that is missing.
func (s *Search) normal(changes driver.Settings) driver.Settings {
	c := driver.Settings{}.With(changes)
	for name, v := range changes {
		if !slices.ContainsFunc(s.forces, func(f driver.Settings) bool { return f[name] != v }) {
			delete(c, name)
		}
	}
	for _, x := range s.space {
		for name, v := range x.Needs {
			if slices.ContainsFunc(s.forces, func(f driver.Settings) bool { return f.With(c)[name] != v }) {
				delete(c, x.Name)
			}
		}
	}
	return c
}

// oneMore returns the name of the only setting that c has in addition to the settings in the parameter
// "without". It returns "" if c lacks one of those settings, has another value for it, or does not have
// exactly one setting more.
func oneMore(without, c driver.Settings) string {
	if added := difference(without, c); len(added) == 1 && len(c) > len(without) {
		return stats.SettingNames(added)[0]
	}
	return ""
}
