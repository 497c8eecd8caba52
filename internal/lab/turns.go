package lab

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// turns lets trials of the same work take turns. Only the trial that has the turn runs. It passes the turn on
// before each phase, and after each slice of a phase. So if the machine is slow for a moment, all trials are
// slower in the same part of their work.
//
// The turns are given in sweeps. In a sweep each trial has one turn, in a shuffled order. A trial that is in
// a later phase than others waits until the others have caught up.
type turns struct {
	mu     sync.Mutex
	wake   []chan struct{} // one channel for each trial, by number of the trial; a value in the channel means that the trial has the turn
	place  []int           // how far each trial is: the argument "place" of its last call of yield, or notStarted, or hasEnded
	at     int             // number of the trial that has the turn
	sweep  []int           // trials that have not had their turn in the current sweep, in order
	random *rand.Rand
}

// newTurns returns turns for n trials. The first trial has the turn. The other trials follow in their order.
// The parameter "seed" determines the order of later sweeps.
func newTurns(n int, seed uint64) *turns {
	t := &turns{place: slices.Repeat([]int{notStarted}, n), random: rand.New(rand.NewPCG(seed, uint64(n)))}
	for i := range n {
		t.wake = append(t.wake, make(chan struct{}, 1))
		if i > 0 {
			t.sweep = append(t.sweep, i)
		}
	}
	t.wake[0] <- struct{}{}
	return t
}

// Values in turns.place for a trial that has not called yield, and for a trial that has ended.
const (
	notStarted = -1
	hasEnded   = math.MaxInt
)

// pass gives the turn to a trial that has not ended. This may be the trial that has the turn already. The
// caller holds t.mu.
func (t *turns) pass() {
	least := slices.Min(t.place)
	if least == hasEnded {
		return
	}
	behind := func(i int) bool { return t.place[i] == least }
	k := slices.IndexFunc(t.sweep, behind)
	if k < 0 {
		t.sweep = t.random.Perm(len(t.wake))
		k = slices.IndexFunc(t.sweep, behind)
	}
	t.at = t.sweep[k]
	t.sweep = slices.Delete(t.sweep, k, k+1)
	t.wake[t.at] <- struct{}{}
}

// turn is the handle with which one trial uses turns. It is nil for a trial that runs alone.
type turn struct {
	*turns
	number int
}

func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.wake[t.number]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield passes the turn on, and waits until the trial has the turn again. The parameter "place" says how far
// the trial is. A greater number is further. yield returns how long the trial waited.
func (t *turn) yield(ctx context.Context, place int) (time.Duration, error) {
	begin := time.Now()
	t.mu.Lock()
	t.place[t.number] = place
	t.pass()
	t.mu.Unlock()
	err := t.wait(ctx)
	return time.Since(begin), err
}

// leave records that the trial has ended, and passes the turn on if the trial has it.
func (t *turn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place[t.number] = hasEnded
	if t.at == t.number {
		t.pass()
	}
}
