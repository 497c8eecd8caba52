package crash

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == record.StageArgument {
		os.Exit(record.Stage(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// BenchmarkRecording compares two processes that commit 24 transactions. Only one of the processes is
// recorded. They take turns. The metric "trial" is the ratio of the processes' run times. The metric
// "transaction" is the ratio of the times of transactions. Both metrics are medians.
func BenchmarkRecording(b *testing.B) {
	w, err := workload.Load("ledger")
	if err != nil {
		b.Fatal(err)
	}
	p, err := w.Plan("full", nil)
	if err != nil {
		b.Fatal(err)
	}
	source, err := build.FindSource("")
	if err != nil {
		b.Fatal(err)
	}
	drivers, err := source.Drivers()
	if err != nil {
		b.Fatal(err)
	}
	builder := &build.Builder{Source: source, Cache: b.TempDir()}
	for _, name := range []string{"mattn", "modernc", "ncruces"} {
		ref, err := build.ParseRef(b.Context(), name, drivers)
		if err != nil {
			b.Fatal(err)
		}
		executable, _, err := builder.Worker(b.Context(), ref, func() {})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range [][2]string{{"delete", "off"}, {"delete", "full"}, {"wal", "off"}, {"wal", "normal"}, {"wal", "full"}} {
			planned := &Planned{Worker: Worker{ref, executable}, Settings: driver.Settings{
				"journal_mode": s[0], "synchronous": s[1], "wal_autocheckpoint": "20", "pool_size": "1"}}
			b.Run(fmt.Sprintf("%s/%s-%s", name, s[0], s[1]), func(b *testing.B) {
				x := &Explorer{Plan: p, Transactions: 24, Limit: time.Minute, Dir: b.TempDir()}
				benchmarkRecording(b, x, planned)
			})
		}
	}
}

func benchmarkRecording(b *testing.B, x *Explorer, p *Planned) {
	var trial, transaction [2][]int64
	for b.Loop() {
		began := time.Now()
		_, recorded, err := x.recording(b.Context(), p, x.commit(), nil)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		dir, err := x.directory(x.Dir)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		plain, err := lab.RunJob(b.Context(), p.Executable, x.request(p, dir, protocol.Job{Commit: x.commit()}), nil)
		if err != nil {
			b.Fatal(err)
		}
		trial[0] = append(trial[0], time.Since(began).Nanoseconds())
		trial[1] = append(trial[1], took.Nanoseconds())
		transaction[0] = append(transaction[0], median(plain.Commit.CommitNS))
		transaction[1] = append(transaction[1], median(recorded.CommitNS))
	}
	b.ReportMetric(float64(median(trial[1]))/float64(median(trial[0])), "trial")
	b.ReportMetric(float64(median(transaction[1]))/float64(median(transaction[0])), "transaction")
}
