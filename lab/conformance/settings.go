package conformance

import (
	"context"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// settingChecks tries each setting that a PRAGMA shows with each of some values,
// and those that opening a database takes.
func settingChecks() []Check {
	var list []Check
	add := func(settings driver.Settings, name, key string) {
		list = append(list, Check{Name: "settings/" + name, Key: key, test: func(ctx context.Context, s *Subject) error {
			_, _, err := s.trial(ctx, simplest, settings)
			return err
		}})
	}
	for _, def := range driver.Vocabulary {
		switch def.Name {
		case "mode", "cache", "pool_size", "pool_idle":
			continue
		}
		for _, value := range def.Examples() {
			key := def.Name + "=" + value
			add(driver.Settings{def.Name: value}, key, key)
		}
	}
	add(driver.Settings{"cache": "private"}, "cache=private", "cache=private")
	add(driver.Settings{"mode": "rwc"}, "mode=rwc", "mode=rwc")
	add(driver.Settings{"pool_size": "4", "journal_mode": "wal"}, "pool_size=4", "")
	add(driver.Settings{"pool_size": "3", "pool_idle": "1"}, "pool_idle=1", "pool_idle=1")
	add(driver.Settings{
		"page_size": "16384", "auto_vacuum": "incremental", "journal_mode": "wal", "synchronous": "full", "pool_size": "2",
	}, "page_size and auto_vacuum of a WAL database", "")
	return list
}
