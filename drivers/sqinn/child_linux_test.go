package sqinn_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// busy is a plan with which the child uses much CPU time and memory, and this process almost none.
var busy = &plan.Plan{
	Schema: "CREATE TABLE t(b)",
	Phases: []plan.Phase{{Name: "work", Script: `
		INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT zeroblob(100) FROM n;
		SELECT count(*) FROM t a, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) WHERE length(hex(a.b)) = 200`}},
}

// TestChildIsCharged checks that CPU time and memory that the child uses count as the driver's.
func TestChildIsCharged(t *testing.T) {
	before := ownCPU(t)
	answers := trial(t, busy, driver.Settings{"cache_size": "-65536"})
	own := ownCPU(t) - before
	s := samples(t, answers)[0].Sample
	if cpu := s.UserNS + s.SystemNS; cpu <= own {
		t.Errorf("the sample has %d ns of CPU time, want more than the %d ns that this process alone has used", cpu, own)
	}
	if rss := ownPeak(t); s.PeakRSSBytes < rss+30<<20 {
		t.Errorf("the sample has %d bytes of memory, want 30 MiB more than the %d bytes of this process alone", s.PeakRSSBytes, rss)
	}
}

func ownCPU(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func ownPeak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// children returns the IDs of the child processes of this process.
func children(t *testing.T) (list []int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for f := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, pid)
		}
	}
	return list
}

// TestChildren checks that there is one child for each connection, and that none is left at the
// end. If a child was killed, the next statement on its connection must fail and not hang, closing must
// report an error, and the children of another pool must still work.
func TestChildren(t *testing.T) {
	others := children(t)
	open := func(size string) (driver.DB, []int) {
		t.Helper()
		db, err := sqinn.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), driver.Settings{"pool_size": size})
		if err != nil {
			t.Fatal(err)
		}
		own := slices.DeleteFunc(children(t), func(pid int) bool { return slices.Contains(others, pid) })
		others = append(others, own...)
		return db, own
	}
	db, own := open("3")
	if len(own) != 3 {
		t.Errorf("%d children for 3 connections", len(own))
	}
	dying, one := open("1")
	if len(one) != 1 {
		t.Fatalf("%d children for a connection", len(one))
	}
	if err := syscall.Kill(one[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := dying.Script(t.Context(), "SELECT 1"); err == nil {
		t.Error("a statement on a dead child: no error")
	}
	if err := dying.Close(); err == nil {
		t.Error("closing a dead child: no error")
	}
	if err := errors.Join(db.Script(t.Context(), "SELECT 1"), db.Close()); err != nil {
		t.Errorf("on living children: %v", err)
	}
	for _, pid := range children(t) {
		if slices.Contains(own, pid) {
			t.Errorf("child %d is left", pid)
		}
	}
}
