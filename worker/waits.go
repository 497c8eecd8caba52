package worker

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// countWaits begins to count the waits for a connection of the pools. The function that it returns
// reports the waits since then, or nil if the driver does not count waits.
func (t *trial) countWaits() func() []protocol.Wait {
	before, known := t.waited()
	return func() []protocol.Wait {
		if !known {
			return nil
		}
		sum, _ := t.waited()
		sum.Add(-before.Count, -before.WaitNS)
		return []protocol.Wait{sum}
	}
}

// waited returns how often, and how long, operations have waited so far for a connection of the pool, or of
// both pools together. The result "known" is false if the driver does not count waits.
func (t *trial) waited() (sum protocol.Wait, known bool) {
	sum.For = protocol.WaitConnection
	for _, db := range []driver.DB{t.db, t.readers} {
		if db == nil {
			continue
		}
		c, ok := db.(driver.WaitCounter)
		if !ok {
			return sum, false
		}
		n, d := c.Waited()
		sum.Add(n, int64(d))
	}
	return sum, true
}

// locks reports whether the client needs the mutex for any operation or statement.
func (c *mixClient) locks() bool {
	return c.mix.Mutexes() || slices.ContainsFunc(c.ops, func(op mixOp) bool { return op.mutex })
}

// lock locks the mutex. It reads the clock only if another client holds the mutex.
func (c *mixClient) lock() {
	if c.mutex.TryLock() {
		return
	}
	began := now()
	c.mutex.Lock()
	c.atMutex.Add(1, now()-began)
}
