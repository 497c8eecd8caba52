package lab_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// recordedFile has the trials of a default run: how long each trial took, and the times in its samples. To
// record a new file on this machine, with any number of rounds:
//
//	sqlite3perf run --rounds 12 --format json -o run.json
//	go test ./internal/lab -run TestReplay -record "$PWD/run.json" -v
//
// On a noisy machine, the option -noise 0.1 reduces each time's deviation from the median to a tenth. Without
// -record, that option only applies to one run of the test, and does not change the file.
const recordedFile = "testdata/recorded.json"

var (
	recordFrom = flag.String("record", "", "replace "+recordedFile+" by the trials of a `run`, a JSON report")
	noise      = flag.Float64("noise", 0, "the `share` of the noise that is replayed (default: the recording's, all of a new one)")
)

// recording is a run to be replayed. It contains only the rounds in which every case was measured.
type recording struct {
	About string         `json:"about"`
	Noise float64        `json:"noise"` // fraction of each deviation from the median that is replayed, on a logarithmic scale
	Cases []recordedCase `json:"cases"`
}

// recordedCase is a case of the recording. Its lists have one value for each round.
type recordedCase struct {
	Driver   string          `json:"driver"`
	Workload string          `json:"workload"`
	Phases   []recordedPhase `json:"phases"`
	TookMS   []float64       `json:"took_ms"` // time of each trial, including the time until the next trial
}

type recordedPhase struct {
	Name    string    `json:"name"`
	Seconds []float64 `json:"seconds"` // seconds of the phase, or seconds per operation
}

// quieter returns p.Seconds[at], moved nearer to the median. The parameter "noise" is the fraction of the
// deviation that remains, on a logarithmic scale.
func (p recordedPhase) quieter(at int, noise float64) float64 {
	middle := stats.Summarize(p.Seconds).Median
	return middle * math.Pow(p.Seconds[at]/middle, noise)
}

// record makes a recording from a run.
func record(run *result.Run) (*recording, error) {
	rec := &recording{Noise: cmp.Or(*noise, 1), About: fmt.Sprintf("%s, %d cores, %s; sqlite3perf %s, %s", run.Machine.CPU, run.Machine.Cores, run.Machine.Virtual, run.Version, run.Started.Format(time.DateOnly))}
	at := map[[2]int]*result.Trial{} // trials by case and round
	took := map[[2]int]time.Duration{}
	bad := map[int]bool{}
	for i := range run.Trials {
		t := &run.Trials[i]
		k := [2]int{t.Case, t.Round}
		if bad[t.Case] = bad[t.Case] || t.Status != result.OK; bad[t.Case] {
			continue
		}
		if i+1 < len(run.Trials) && run.Trials[i+1].Started.After(t.Started) {
			took[k] += run.Trials[i+1].Started.Sub(t.Started)
		} else {
			took[k] += time.Duration(t.TookNS)
		}
		if !t.Repeated {
			at[k] = t
		}
	}
	var rounds []int
	for round := 1; round <= run.Rounds; round++ {
		if !slices.ContainsFunc(run.Cases, func(c result.Case) bool { return !bad[c.ID] && at[[2]int{c.ID, round}] == nil }) {
			rounds = append(rounds, round)
		}
	}
	if len(rounds) < lab.MinRounds {
		return nil, fmt.Errorf("the run has %d rounds of all cases, want at least %d: make it with --rounds", len(rounds), lab.MinRounds)
	}
	short := func(v float64) float64 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		return v
	}
	for _, c := range run.Cases {
		if bad[c.ID] {
			continue
		}
		out := recordedCase{Driver: c.Driver, Workload: c.Workload}
		for _, name := range c.Phases {
			out.Phases = append(out.Phases, recordedPhase{Name: name})
		}
		for _, round := range rounds {
			k := [2]int{c.ID, round}
			out.TookMS = append(out.TookMS, short(took[k].Seconds()*1000))
			for _, s := range at[k].Samples {
				i := slices.IndexFunc(out.Phases, func(p recordedPhase) bool { return p.Name == s.Phase })
				out.Phases[i].Seconds = append(out.Phases[i].Seconds, short(s.Value()))
			}
		}
		rec.Cases = append(rec.Cases, out)
	}
	return rec, nil
}

// replay simulates a default run of the recorded cases, in virtual time. The first round is always the first
// recorded round, because it takes longer than the others. Each later round is a recorded round drawn at
// random, with all its trials, so a slow round is slow for all cases.
func (rec *recording) replay(t *testing.T, seed uint64) (*result.Run, *bench) {
	b := newBench(t)
	r := rand.New(rand.NewPCG(seed, 1))
	drawn := []int{0}
	at := func(round int) int {
		for len(drawn) < round {
			drawn = append(drawn, 1+r.IntN(len(rec.Cases[0].TookMS)-1))
		}
		return drawn[round-1]
	}
	b.took = func(id, round int) time.Duration {
		return time.Duration(rec.Cases[id-1].TookMS[at(round)] * float64(time.Millisecond))
	}
	b.outcome = func(id, round int) *result.Trial {
		out := &result.Trial{Status: result.OK}
		for _, p := range rec.Cases[id-1].Phases {
			out.Samples = append(out.Samples, result.Sample{Phase: p.Name, Metric: result.MetricTime, WallNS: int64(1e12 * p.quieter(at(round), rec.Noise)), Operations: 1})
		}
		return out
	}
	const precision = 0.05
	run, err := b.measure(len(rec.Cases), lab.Schedule{Time: 5 * time.Minute, Settled: stats.UntilSettled("native", precision)}, func(l *lab.Laboratory) {
		l.Run.Seed, l.Run.Precision = seed, precision
		for i, c := range l.Cases {
			of := rec.Cases[i]
			c.Driver, c.Workload, c.Phases = of.Driver, of.Workload, nil
			for _, p := range of.Phases {
				c.Phases = append(c.Phases, p.Name)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return run, b
}

// TestReplay simulates runs with the noise of a recorded default run. It checks that nine tenths of the ratios
// are precise enough after five minutes. It also prints how long each run took and what was predicted.
func TestReplay(t *testing.T) {
	if *recordFrom != "" {
		data, err := os.ReadFile(*recordFrom)
		if err != nil {
			t.Fatal(err)
		}
		var in struct{ Run *result.Run }
		if err := json.Unmarshal(data, &in); err != nil {
			t.Fatal(err)
		}
		rec, err := record(in.Run)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = json.Marshal(rec); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(recordedFile, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	var rec recording
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	rec.Noise = cmp.Or(*noise, rec.Noise)
	t.Logf("recorded: %s, %d rounds of %d cases; replayed with %g of the noise", rec.About, len(rec.Cases[0].TookMS), len(rec.Cases), rec.Noise)
	for seed := range uint64(3) {
		run, b := rec.replay(t, seed)
		settled, figures := 0, stats.Analyze(run, "native").Figures()
		for _, f := range figures {
			if f.Settled(run.Precision) {
				settled++
			}
		}
		took := b.now.Sub(b.began)
		t.Logf("seed %d: %d of %d ratios settled in %v, %d rounds, %d trials (planned: %d in %v): %s",
			seed, settled, len(figures), took.Round(time.Second), run.Rounds, len(run.Trials), b.plans[1].Trials, b.plans[1].Takes.Round(time.Second), run.Stopped)
		if 10*settled < 9*len(figures) {
			t.Errorf("seed %d: %d of %d ratios are settled, want nine tenths", seed, settled, len(figures))
		}
	}
}
