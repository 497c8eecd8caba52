package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// harming harms a cluster under load and counts the effects. To harm a cluster means to kill or
// isolate its leader.
type harming struct {
	*writing
	nodes driver.ClusterDB
	tell  func(protocol.Progress)

	last atomic.Int64 // the ID of the row whose write was acknowledged last

	mu           sync.Mutex
	acknowledged []int64
	failed       int64
	reads        []protocol.LevelReads
	lastAt       time.Time
	window       window
}

// window has the measurements of writes since the cluster was last harmed.
type window struct {
	begin     time.Time
	silent    time.Duration // the longest time without an acknowledged write
	harmed    time.Time     // when the kill or the cut was complete; only a write that began later shows that the cluster has recovered
	recovered chan time.Duration
}

func (h *harming) run(ctx context.Context) (*protocol.Harmed, error) {
	for _, l := range h.Harm.Levels {
		h.reads = append(h.reads, protocol.LevelReads{Level: l})
	}
	harms, err := h.underLoad(ctx)
	if err == nil {
		err = h.repair(ctx)
	}
	if err != nil {
		return nil, err
	}
	out := &protocol.Harmed{Harms: harms, Acknowledged: int64(len(h.acknowledged)), Failed: h.failed, Reads: h.reads}
	return out, h.account(ctx, out)
}

// underLoad harms the cluster while clients write and read.
func (h *harming) underLoad(ctx context.Context) (harms []protocol.Harm, err error) {
	load, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	for i := range h.Harm.Clients {
		clients.Go(func() { h.writes(load, i) })
	}
	for i := range h.reads {
		clients.Go(func() { h.readsAt(load, &h.reads[i]) })
	}
	kinds := append(slices.Repeat([]string{protocol.HarmKill}, h.Harm.Kills), slices.Repeat([]string{protocol.HarmCut}, h.Harm.Cuts)...)
	for _, kind := range kinds {
		one, err := h.harm(ctx, kind)
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return nil, err
		}
		harms = append(harms, *one)
		h.tell(protocol.Progress{Stage: "cluster", Rows: h.count(), Harm: one})
	}
	pause(ctx, h.loadTime())
	return harms, ctx.Err()
}

func (h *harming) loadTime() time.Duration { return time.Duration(h.Harm.LoadMS) * time.Millisecond }

func (h *harming) patience() time.Duration {
	return time.Duration(h.Harm.Patience) * time.Millisecond
}

// limited returns a context that ends after LimitMS, the time limit of a client's operation.
func (h *harming) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(h.Harm.LimitMS)*time.Millisecond)
}

func (h *harming) count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int64(len(h.acknowledged))
}

// The method "writes" runs a client that writes rows. After an error it is not known whether the
// row was written, so the client continues with the next row, at the next member.
func (h *harming) writes(ctx context.Context, client int) {
	for at := client % len(h.members); ctx.Err() == nil; {
		id := h.next.Add(1)
		begin := time.Now()
		limited, cancel := h.limited(ctx)
		err := h.nodes.ExecAt(limited, at, "INSERT INTO "+clusterTable+"(id, body) VALUES (?, ?)", id, body)
		cancel()
		if err == nil {
			h.acknowledge(id, begin)
			continue
		}
		h.mu.Lock()
		h.failed++
		h.mu.Unlock()
		at = (at + 1) % len(h.members)
		pause(ctx, retryAfter)
	}
}

func (h *harming) acknowledge(id int64, begin time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.acknowledged = append(h.acknowledged, id)
	h.last.Store(id)
	w := &h.window
	w.silent = max(w.silent, now.Sub(later(h.lastAt, w.begin)))
	h.lastAt = now
	if w.recovered != nil && begin.After(w.harmed) {
		w.recovered <- now.Sub(w.begin)
		w.recovered = nil
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// readEvery is the pause of a client between two reads. Without pauses, readers would leave too
// little time for writes.
const readEvery = 5 * time.Millisecond

// readsAt runs a client that reads the row whose write was acknowledged last, at each member in
// turn. It reads with the level of consistency r.Level, and counts the reads in r.
func (h *harming) readsAt(ctx context.Context, r *protocol.LevelReads) {
	for at := 0; ctx.Err() == nil; at = (at + 1) % len(h.members) {
		pause(ctx, readEvery)
		id := h.last.Load()
		if id == 0 {
			continue
		}
		limited, cancel := h.limited(ctx)
		list, err := h.nodes.IntsAt(limited, at, r.Level, selectID, id)
		cancel()
		if err != nil && ctx.Err() != nil {
			return // the read failed because the load has ended
		}
		r.Reads++
		switch {
		case err != nil:
			r.Failed++
		case len(list) == 0:
			r.Stale++
		}
	}
}

// The method "harm" kills or isolates the leader, waits until the cluster accepts writes, restarts
// or reconnects the member, and waits until the member has caught up. If there is only one member,
// harm restarts or reconnects it before the cluster can accept writes.
func (h *harming) harm(ctx context.Context, kind string) (*protocol.Harm, error) {
	pause(ctx, h.loadTime())
	patient, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	leader, err := h.nodes.Leader(patient)
	if err != nil {
		return nil, err
	}
	out := &protocol.Harm{Kind: kind, Member: h.members[leader].ID}
	recovered := make(chan time.Duration, 1)
	h.mu.Lock()
	h.window = window{begin: time.Now()}
	h.mu.Unlock()
	do, undo := h.nodes.Kill, func() error { return h.restart(ctx, leader) }
	if kind == protocol.HarmCut {
		do, undo = h.nodes.Isolate, func() error { return h.nodes.Heal(leader) }
	}
	if err := do(leader); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.window.harmed, h.window.recovered = time.Now(), recovered
	h.mu.Unlock()
	if len(h.members) == 1 { // no other member can take over
		if err := undo(); err != nil {
			return nil, err
		}
	}
	select {
	case d := <-recovered:
		out.RecoveredNS = int64(d)
	case <-time.After(h.patience()):
		return nil, errorf(protocol.CodeEndless, "no write was acknowledged for %v after a %s of member %s, which was the leader", h.patience(), kind, out.Member)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if len(h.members) > 1 {
		pause(ctx, h.loadTime())
		if err := undo(); err != nil {
			return nil, err
		}
	}
	if err := h.caughtUp(ctx, leader); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out.SilentNS = int64(max(h.window.silent, time.Since(later(h.lastAt, h.window.begin))))
	return out, nil
}

func (h *harming) restart(ctx context.Context, member int) error {
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	return h.nodes.Restart(ctx, member)
}

// caughtUp waits until a member has the row whose write was acknowledged last, or any later
// row, because the acknowledged row may be lost.
func (h *harming) caughtUp(ctx context.Context, member int) error {
	patient, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	id := h.last.Load()
	for patient.Err() == nil {
		list, err := h.nodes.IntsAt(patient, member, driver.ReadLevels[0], "SELECT id FROM "+clusterTable+" WHERE id >= ? LIMIT 1", id)
		if err == nil && len(list) > 0 {
			return nil
		}
		pause(patient, retryAfter)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errorf(protocol.CodeEndless, "member %s has not caught up with the others within %v", h.members[member].ID, h.patience())
}

// repair kills all members and starts them again, like a power failure of their machine. It
// does nothing if the job kills no members.
func (h *harming) repair(ctx context.Context) error {
	if h.Harm.Kills == 0 {
		return nil
	}
	for i := range h.members {
		if err := h.nodes.Kill(i); err != nil {
			return err
		}
	}
	// A member is ready only when most members are running, so all members are started at the same
	// time.
	return errors.Join(h.atAll(func(member int) error { return h.restart(ctx, member) })...)
}

// mostLost is the maximum number of lost rows whose IDs are reported.
const mostLost = 10

// account reads all rows back. It writes the results to the parameter "out": the acknowledged rows
// that are lost, and for each member the rows that the member lacks.
func (h *harming) account(ctx context.Context, out *protocol.Harmed) error {
	strongest := driver.ReadLevels[len(driver.ReadLevels)-1]
	found, err := h.settled(ctx, strongest)
	if err != nil {
		return err
	}
	out.Found = int64(len(found))
	for _, id := range h.acknowledged {
		if found[id] {
			continue
		}
		if out.Lost++; len(out.LostIDs) < mostLost {
			out.LostIDs = append(out.LostIDs, id)
		}
	}
	for i, m := range h.members {
		own, err := h.all(ctx, i, driver.ReadLevels[0], func(rows map[int64]bool) bool { return len(without(found, rows)) == 0 })
		if err != nil {
			return err
		}
		missing := protocol.Missing{Member: m.ID, Rows: int64(len(without(found, own)))}
		for _, id := range h.acknowledged {
			if !own[id] {
				missing.Lost++
			}
		}
		out.Missing = append(out.Missing, missing)
	}
	return nil
}

// The function "without" returns the IDs that are in the map "set" but not in the map "other".
func without(set, other map[int64]bool) (list []int64) {
	for id := range set {
		if !other[id] {
			list = append(list, id)
		}
	}
	return list
}

// settleTime is how long repeated reads must return the same rows before the rows count as complete.
const settleTime = 2 * time.Second

// The method "settled" reads all rows repeatedly, with a level of consistency, until a result has
// no row that the previous result lacks. Then all queued writes are done. It returns the last
// result.
func (h *harming) settled(ctx context.Context, level string) (map[int64]bool, error) {
	var before map[int64]bool
	return h.all(ctx, 0, level, func(rows map[int64]bool) bool {
		same := before != nil && len(without(rows, before)) == 0
		if before = rows; !same {
			pause(ctx, settleTime)
		}
		return same
	})
}

// The method "all" reads all rows at a member repeatedly, until the function "enough" returns true
// or the time limit ends. It returns the rows that it has read last.
func (h *harming) all(ctx context.Context, member int, level string, enough func(map[int64]bool) bool) (rows map[int64]bool, err error) {
	patient, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	for {
		var list []int64
		var latest error
		if list, latest = h.nodes.IntsAt(patient, member, level, "SELECT id FROM "+clusterTable+" WHERE id > ?", int64(0)); latest == nil {
			rows, err = map[int64]bool{}, nil
			for _, id := range list {
				rows[id] = true
			}
			if enough(rows) {
				return rows, nil
			}
		} else if rows == nil {
			err = latest
		}
		if patient.Err() != nil {
			break
		}
		pause(patient, retryAfter)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("reading all rows back at member %s, level %s: %w", h.members[member].ID, level, err)
	}
	return rows, nil
}
