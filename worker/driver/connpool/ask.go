package connpool

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Asker is a [Conn] that does what [driver.Asker] says.
type Asker interface {
	Ask(q driver.Question, visit func(row []any) error) (driver.Reply, error)
}

// askingConn is a conn whose adapter is an [Asker].
type askingConn struct{ *conn }

// Ask implements [driver.Asker].
func (c askingConn) Ask(ctx context.Context, q driver.Question, visit func(row []any) error) (driver.Reply, error) {
	if err := c.on.guard(ctx); err != nil {
		return driver.Reply{}, err
	}
	return c.on.Conn.(Asker).Ask(q, visit)
}

// Unbindable is the error for an argument of a type that a library cannot bind.
func Unbindable(number int, v any) error {
	return fmt.Errorf("argument %d: the library binds no %T", number, v)
}
