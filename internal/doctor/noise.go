package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// ExamineTools finds the Go toolchain, the C compiler, and the drivers that can be built with them,
// and writes them to c.
func ExamineTools(ctx context.Context, b *build.Builder, known []build.Known, c *result.Checkup) error {
	var unavailable *build.BuildError
	var err error
	if c.Tools.Go, c.Tools.CC, err = b.Tools(ctx); err != nil && !errors.As(err, &unavailable) {
		return err
	}
	c.Drivers = []result.DriverState{}
	for i := range known {
		k := &known[i]
		d := result.DriverState{Name: k.Name, Optional: k.Optional}
		version, _, err := b.State(ctx, build.Ref{Name: k.Name, Known: k})
		switch {
		case errors.As(err, &unavailable):
			d.Reason = &unavailable.Reason
		case err != nil:
			return err
		case k.Name == "python":
			c.Tools.Python = version
		}
		c.Drivers = append(c.Drivers, d)
	}
	return nil
}

// BesideItself measures two equal cases of one driver in the same rounds, to see how much they differ.
type BesideItself struct {
	Builder *build.Builder
	Known   []build.Known // drivers to choose from
	Dir     string        // directory for databases
	Show    interface {
		lab.Building
		lab.Progress
	}
	Note    func(format string, args ...any)
	Now     func() time.Time
	CPUTime func() (machine.CPUTime, bool)
	Stop    <-chan struct{} // closed when no further trial is to begin
}

const (
	noiseTime     = 15 * time.Second
	noiseDriver   = "modernc" // this driver needs no C compiler
	noiseWorkload = "simple"
	noiseScale    = "quick"
)

// Measure measures by how much two equal cases of a driver differ. It writes the result to c.Noise. If
// there is no result, it writes the reason to c.NoNoise. The context "early" limits the building of
// workers, and ctx limits the measurement.
func (a *BesideItself) Measure(ctx, early context.Context, c *result.Checkup) error {
	ref, reason, err := a.driver(early)
	if c.NoNoise = reason; err != nil || reason != nil {
		return err
	}
	w, err := workload.Load(noiseWorkload)
	if err != nil {
		return err
	}
	matrix := lab.Matrix{Drivers: []build.Ref{ref}, Workloads: []*workload.Workload{w}, Scale: noiseScale, Seed: 1}
	cases, err := matrix.Cases()
	if err != nil {
		return err
	}
	twin := *cases[0] // a copy, because a matrix cannot contain the same driver twice
	twin.ID = len(cases) + 1
	cases = append(cases, &twin)
	if err := lab.Prepare(early, cases, a.Builder, a.Show); err != nil {
		return err
	}
	observer, err := machine.Observe(a.Dir)
	if err != nil {
		return err
	}
	run := &result.Run{Seed: matrix.Seed, Scale: matrix.Scale}
	run.Cases = document.Map(cases, func(x *lab.Case) result.Case { return x.Case })
	a.Note("comparing %s with itself for %v", ref.Name, noiseTime)
	l := &lab.Laboratory{
		Run: run, Cases: cases, Schedule: lab.Schedule{Time: noiseTime}, Recorder: unrecorded{}, Progress: a.Show,
		Executor: &lab.Processes{Dir: a.Dir, Limit: time.Minute, CPUTime: a.CPUTime}, Noise: observer, Now: a.Now, Stop: a.Stop,
	}
	began := a.Now()
	if err := l.Measure(ctx); err != nil || run.Stopped == result.StoppedInterrupted && run.Rounds < lab.MinRounds {
		return err
	}
	took := a.Now().Sub(began)
	c.Steal = run.Steal
	c.Noise, c.NoNoise = noiseOf(stats.Analyze(run, lab.Floor), took)
	if c.Noise != nil {
		c.Noise.Speeds = observer.Speeds()
	}
	return nil
}

// driver returns the driver to measure, with its worker built: noiseDriver, or the first driver that
// can be built if noiseDriver cannot. If no driver can be built, it returns the reason.
func (a *BesideItself) driver(ctx context.Context) (build.Ref, *protocol.Reason, error) {
	var order []*build.Known
	for i := range a.Known {
		switch k := &a.Known[i]; {
		case k.Name == noiseDriver:
			order = slices.Insert(order, 0, k)
		case !k.Optional:
			order = append(order, k)
		}
	}
	var first *protocol.Reason
	for _, k := range order {
		ref := build.Ref{Name: k.Name, Known: k}
		_, _, err := a.Builder.Worker(ctx, ref, func() { a.Show.Building(1, 1, k.Name) })
		var unavailable *build.BuildError
		switch {
		case err == nil:
			return ref, nil, nil
		case !errors.As(err, &unavailable):
			return ref, nil, err
		case first == nil:
			first = &unavailable.Reason
		}
	}
	if first == nil {
		first = &protocol.Reason{Code: protocol.CodeBuild, Message: "the source tree has no driver"}
	}
	return build.Ref{}, first, nil
}

// noiseOf returns how much the samples of two equal cases differ, or the reason why that is unknown. The
// parameter "took" is the duration of the measurement.
func noiseOf(a *stats.Analysis, took time.Duration) (*result.Noise, *protocol.Reason) {
	n := &result.Noise{Rounds: a.Run.Rounds, RoundNS: int64(took) / int64(max(a.Run.Rounds, 1)), Scale: a.Run.Scale}
	for _, g := range a.Groups {
		n.Workload, n.Driver = g.Workload, g.Outcomes[0].Case.Driver
		for _, o := range g.Outcomes {
			if o.Status != result.OK {
				return nil, o.Reason
			}
			n.Version = o.Trials[0].Proof.ModuleVersion
		}
		for _, t := range g.Tables {
			p, ok := stats.NewNoise(t.Cells[0].Points(), t.Cells[1].Points())
			if !ok {
				return nil, &protocol.Reason{Code: protocol.CodeProtocol, Phase: t.Phase, Message: "a time is zero"}
			}
			p.Phase = t.Phase
			for _, rounds := range lengths(time.Duration(n.RoundNS)) {
				d := result.SmallestDifference{Rounds: rounds, TookNS: int64(rounds) * n.RoundNS, Difference: stats.SmallestDifference(p.Ratios, rounds)}
				d.Range = stats.DifferenceRange(p.Ratios, d.Difference)
				p.Smallest = append(p.Smallest, d)
			}
			n.Phases = append(n.Phases, p)
		}
	}
	return n, nil
}

// lengths returns the numbers of rounds for which a smallest visible difference is computed. These are
// three numbers: the least number of rounds of a run, then 30, and then the number of rounds that fit
// into [machine.NoiseTime]. It leaves out numbers that are greater than the last of the three. The
// parameter "round" is the duration of one round.
func lengths(round time.Duration) []int {
	most := max(lab.MinRounds, int(machine.NoiseTime/max(round, 1)))
	list := []int{lab.MinRounds, 30, most}
	return slices.Compact(slices.DeleteFunc(list, func(n int) bool { return n > most }))
}

type unrecorded struct{}

func (unrecorded) AddTrial(context.Context, int64, *result.Trial) error { return nil }

func (unrecorded) AddWarning(context.Context, int64, result.Warning) error { return nil }

func (unrecorded) Finish(context.Context, *result.Run) error { return nil }
