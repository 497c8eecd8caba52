package crawshaw

import (
	"strings"

	"crawshaw.io/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

func (c *conn) Ask(q driver.Question, visit func([]any) error) (driver.Reply, error) {
	s, _, err := c.PrepareTransient(strings.TrimSpace(q.SQL))
	if err != nil {
		return driver.Reply{}, wrap(err)
	}
	return connpool.AskStepped[sqlite.ColumnType](c, s, q, visit, wrap)
}
