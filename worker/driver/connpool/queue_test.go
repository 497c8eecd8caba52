package connpool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// The function "waited" checks how many callers have waited, and for how long.
func waited(t *testing.T, p interface{ Waited() (int64, time.Duration) }, callers int64, total time.Duration) {
	t.Helper()
	if n, d := p.Waited(); n != callers || d != total {
		t.Errorf("%d callers waited %v, want %d and %v", n, d, callers, total)
	}
}

// TestFixedWaited checks that only callers that had to wait are counted, including callers that
// gave up.
func TestFixedWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := open(t, 2)
		db := connpool.New(p, 2, "BEGIN")
		a, b := take(t, p), take(t, p)
		p.Put(b)
		b = take(t, p)
		waited(t, db, 0, 0)
		time.AfterFunc(time.Minute, func() { p.Put(a) })
		take(t, p)
		waited(t, db, 1, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if c, err := p.Take(ctx); err == nil {
			t.Errorf("the pool lent connection %d to two callers", c.Number())
		}
		p.Put(b)
		take(t, p)
		waited(t, db, 2, time.Hour+time.Minute)
	})
}

// TestQueue checks that a [connpool.Queue] counts only callers that had to wait, including
// callers that gave up.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := connpool.NewQueue(1)
		ask := func(wait time.Duration, got bool) {
			began := q.Enter()
			time.Sleep(wait)
			q.Leave(began, got)
		}
		ask(time.Second, true) // the library was slow, but no other caller had the connection
		waited(t, q, 0, 0)
		ask(time.Hour, false)
		waited(t, q, 1, time.Hour)
		q.Return()
		ask(time.Second, true)
		waited(t, q, 1, time.Hour)
		ask(time.Minute, true)
		waited(t, q, 2, time.Hour+time.Minute)
	})
}

func TestQueueAllocatesNothing(t *testing.T) {
	q := connpool.NewQueue(1)
	if n := testing.AllocsPerRun(100, func() {
		q.Leave(q.Enter(), true)
		q.Return()
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
