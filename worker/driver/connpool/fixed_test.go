package connpool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

func open(t *testing.T, size int) (*connpool.Fixed, []*fake) {
	t.Helper()
	var fakes []*fake
	p, err := connpool.NewFixed(t.Context(), size, func(n int) (connpool.ClosingConn, error) {
		f := &fake{number: n, fail: map[string]error{}}
		fakes = append(fakes, f)
		return f, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(fakes) != size {
		t.Fatalf("%d connections are open, want all %d", len(fakes), size)
	}
	return p, fakes
}

func TestFixedTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := open(t, 1)
		c, err := p.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := p.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Take while all connections are taken: %v, want context.DeadlineExceeded", err)
		}
		time.AfterFunc(time.Minute, func() { p.Put(c) })
		again, err := p.Take(t.Context())
		if err != nil || again != c {
			t.Fatalf("Take after Put: %v, %v", again, err)
		}
	})
}

func take(t *testing.T, p *connpool.Fixed) connpool.Conn {
	t.Helper()
	c, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFixedLendsTheLatest expects that, as with database/sql, a single caller always gets the
// connection that it returned.
func TestFixedLendsTheLatest(t *testing.T) {
	p, _ := open(t, 3)
	a, b, c := take(t, p), take(t, p), take(t, p)
	p.Put(a)
	p.Put(c)
	p.Put(b)
	for range 3 {
		got := take(t, p)
		if got != b {
			t.Errorf("got connection %d, want %d, which was returned last", got.Number(), b.Number())
		}
		p.Put(got)
	}
	for i, want := range []connpool.Conn{b, c, a} {
		if got := take(t, p); got != want {
			t.Errorf("take %d: connection %d, want %d", i+1, got.Number(), want.Number())
		}
	}
}

// TestFixedIsFair lets several callers wait for one connection. The context of one caller ends.
// The other callers must get the connection in the order of their arrival.
func TestFixedIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := open(t, 1)
		c := take(t, p)
		ending, cancel := context.WithCancel(t.Context())
		var got []int
		for i := range 5 {
			go func() {
				ctx := t.Context()
				if i == 1 {
					ctx = ending
				}
				c, err := p.Take(ctx)
				if i == 1 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("Take with a context that ended: %v, %v", c, err)
					}
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, i)
				p.Put(c)
			}()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		p.Put(c)
		synctest.Wait()
		if diff := cmp.Diff([]int{0, 2, 3, 4}, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFixedContextEndsAsItIsGiven ends contexts while a connection is being passed to a caller.
// No connection may be lost, and two callers must never have the same connection at once.
func TestFixedContextEndsAsItIsGiven(t *testing.T) {
	p, _ := open(t, 2)
	var inUse [2]atomic.Bool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				c, err := p.Take(ctx)
				if err != nil {
					continue
				}
				if inUse[c.Number()].Swap(true) {
					t.Errorf("two callers have connection %d at the same time", c.Number())
				}
				runtime.Gosched()
				inUse[c.Number()].Store(false)
				p.Put(c)
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestFixedTakeAllocatesNothing(t *testing.T) {
	p, _ := open(t, 2)
	if n := testing.AllocsPerRun(100, func() { p.Put(take(t, p)) }); n != 0 {
		t.Errorf("%v allocations for a Take and a Put, want none", n)
	}
}

// BenchmarkFixed takes and returns a connection of pools of different sizes.
func BenchmarkFixed(b *testing.B) {
	for _, size := range []int{1, 64} {
		p, err := connpool.NewFixed(b.Context(), size, func(n int) (connpool.ClosingConn, error) { return &fake{number: n}, nil })
		if err != nil {
			b.Fatal(err)
		}
		take := func() {
			c, err := p.Take(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			p.Put(c)
		}
		b.Run(fmt.Sprintf("%d connections, one caller", size), func(b *testing.B) {
			for b.Loop() {
				take()
			}
		})
		b.Run(fmt.Sprintf("%d connections, many callers", size), func(b *testing.B) {
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					take()
				}
			})
		})
	}
}

func TestFixedClose(t *testing.T) {
	p, fakes := open(t, 2)
	broken := errors.New("broken")
	fakes[0].fail["close"] = broken
	if err := p.Close(); !errors.Is(err, broken) {
		t.Errorf("Close: %v, want the connection's error", err)
	}
	for _, f := range fakes {
		if diff := cmp.Diff([]string{"close"}, f.log); diff != "" {
			t.Errorf("connection %d: -want +got\n%s", f.number, diff)
		}
	}
	if _, err := p.Take(t.Context()); err == nil {
		t.Error("Take after Close: no error")
	}
	if err := p.Close(); err == nil {
		t.Error("second Close: no error")
	}
}

func TestFixedCloseInUse(t *testing.T) {
	p, _ := open(t, 2)
	if _, err := p.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err == nil {
		t.Error("Close with a connection taken: no error")
	}
}

func TestFixedOpenFails(t *testing.T) {
	broken := errors.New("broken")
	first := &fake{}
	_, err := connpool.NewFixed(t.Context(), 2, func(n int) (connpool.ClosingConn, error) {
		if n == 1 {
			return nil, broken
		}
		return first, nil
	})
	if !errors.Is(err, broken) || !slices.Equal(first.log, []string{"close"}) {
		t.Errorf("error %v, first connection: %v", err, first.log)
	}
}

// TestFixedOpeningEnds checks that a pool opens no further connection if the context ends while
// the pool is being opened, and that it closes the connections that are already open.
func TestFixedOpeningEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var fakes []*fake
	_, err := connpool.NewFixed(ctx, 1000, func(n int) (connpool.ClosingConn, error) {
		if n == 2 {
			cancel()
		}
		fakes = append(fakes, &fake{number: n})
		return fakes[n], nil
	})
	if !errors.Is(err, context.Canceled) || len(fakes) != 3 {
		t.Errorf("%d connections were opened, error %v: want 3 connections and context.Canceled", len(fakes), err)
	}
	for _, f := range fakes {
		if !slices.Contains(f.log, "close") {
			t.Errorf("connection %d was not closed", f.number)
		}
	}
}
