package addedcost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// verified is how many operations of a mix the engine runs to verify them.
const verified = 1000

// pair does the work with the engine and by hand, on new databases in dir. With
// seeAll the hand-written side also hashes what its transactions read, which takes
// time.
func (l Library) pair(ctx context.Context, w *work, dir string, handFirst, seeAll bool) (engine, hand side, err error) {
	if handFirst {
		hand, err = l.hand(w, filepath.Join(dir, "hand.db"), seeAll)
	}
	if err == nil {
		engine, err = l.engine(ctx, w, filepath.Join(dir, "engine.db"))
	}
	if err == nil && !handFirst {
		hand, err = l.hand(w, filepath.Join(dir, "hand.db"), seeAll)
	}
	if err == nil {
		err = agree(engine, hand)
	}
	return engine, hand, err
}

// engine does the work with a worker in this process.
func (l Library) engine(ctx context.Context, w *work, path string) (side, error) {
	answers, err := protocol.Exchange(protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: w.seed, Path: path, Settings: Settings, Plan: w.plan,
	}, func(in io.Reader, out io.Writer) error { return worker.Serve(ctx, l.Driver, in, out) })
	if err != nil {
		return nil, err
	}
	s := side{}
	for _, a := range answers {
		switch {
		case a.Reason != nil:
			return nil, fmt.Errorf("engine: phase %s: %s", a.Reason.Phase, a.Reason.Message)
		case a.Sample != nil:
			m := a.Sample
			s[m.Phase] = &protocol.Sample{Phase: m.Phase, WallNS: m.WallNS, UserNS: m.UserNS, SystemNS: m.SystemNS, Rows: m.Rows, Costs: protocol.Costs{Allocs: m.Allocs}, Checksum: m.Checksum}
		}
	}
	return s, nil
}

// hand does the work by hand. It verifies when the engine does, so that both
// start a phase with the same pages in memory.
func (l Library) hand(w *work, path string, seeAll bool) (s side, err error) {
	h, err := l.Open(path)
	if err != nil {
		return nil, fmt.Errorf("hand: %w", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := proven(h); err != nil {
		return nil, err
	}
	if err := h.Create(); err != nil {
		return nil, fmt.Errorf("hand: schema: %w", err)
	}
	s = side{}
	var sum hash
	for _, p := range []struct {
		name string
		run  func(*protocol.Sample, *worker.Stopwatch) error
	}{
		{insertPhase, func(r *protocol.Sample, watch *worker.Stopwatch) error {
			r.Rows = int64(len(w.users))
			return h.Insert(watch, w.users)
		}},
		{queryPhase, func(r *protocol.Sample, watch *worker.Stopwatch) (err error) {
			if r.Rows, err = h.Query(watch, nil); err != nil {
				return err
			}
			_, err = h.Query(&worker.Stopwatch{}, sum.add)
			return err
		}},
		{mixPhase, func(r *protocol.Sample, watch *worker.Stopwatch) (err error) {
			if _, err = h.Mix(&worker.Stopwatch{}, w.mix[:min(verified, len(w.mix))], sum.add); err != nil {
				return err
			}
			r.Rows, err = h.Mix(watch, w.mix, nil)
			return err
		}},
		{txPhase, func(r *protocol.Sample, watch *worker.Stopwatch) (err error) {
			var see func(User)
			if seeAll {
				see = sum.add
			}
			r.Rows, err = h.Transactions(watch, w.tx, see)
			return err
		}},
		{leftPhase, func(r *protocol.Sample, watch *worker.Stopwatch) (err error) {
			r.Rows, err = h.Query(watch, sum.add)
			return err
		}},
	} {
		r := &protocol.Sample{Phase: p.name}
		var watch worker.Stopwatch
		if err := p.run(r, &watch); err != nil {
			return nil, fmt.Errorf("hand: phase %s: %w", p.name, err)
		}
		watch.Read(r)
		r.Checksum = sum.take()
		s[p.name] = r
	}
	return s, nil
}

// proven checks that the hand-written side has [Settings], as the engine checks the
// driver.
func proven(h Hand) error {
	got := driver.Settings{}
	for name := range Settings {
		def, _ := driver.LookupSetting(name)
		if !def.Pragma {
			continue
		}
		value, err := h.Setting(name)
		if err == nil {
			got[name], err = def.Canonical(value)
		}
		if err != nil {
			return fmt.Errorf("hand: %s: %w", name, err)
		}
	}
	if wrong := driver.Check(Settings, got); len(wrong) > 0 {
		return fmt.Errorf("hand: %v", wrong)
	}
	return nil
}

// hash computes the engine's checksum of what the hand-written side reads.
type hash struct {
	sum plan.Hash
	row [4]driver.Cell
}

func (h *hash) add(u User) {
	h.row[0].Int, h.row[1].Time, h.row[2].Text, h.row[3].Bool = u.ID, u.Created, u.Email, u.Active
	h.sum.Row(h.row[:], columns)
}

// take returns the checksum and begins a new one. The checksum is "" if nothing was
// added.
func (h *hash) take() string {
	if h.sum.Rows() == 0 {
		return ""
	}
	defer h.sum.Reset()
	return h.sum.Sum()
}
