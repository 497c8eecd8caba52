package worker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func dsnJob(t *testing.T, openings ...protocol.Opening) protocol.Request {
	t.Helper()
	return protocol.Request{
		Type: protocol.TypeJob, Protocol: protocol.Version, Path: t.TempDir(), Job: &protocol.Job{DSN: &protocol.DSN{Openings: openings}},
	}
}

// TestDSNUnsupported checks that a job of the kind "dsn" fails with CodeUnsupported if the driver
// does not accept data source names.
func TestDSNUnsupported(t *testing.T) {
	got := serve(t, newFake(), dsnJob(t, protocol.Opening{DSN: "x.db", File: "x.db"}))
	last := got[len(got)-1]
	if last.Reason == nil || last.Reason.Code != protocol.CodeUnsupported {
		t.Errorf("%+v", last)
	}
}

// TestDSNRefused checks what happens if the library refuses a data source name. The worker must try
// again with an existing file in the opening's own directory, and then report the library's error.
func TestDSNRefused(t *testing.T) {
	var names []string
	d := driver.WithDSN(newFake(), func(_ context.Context, dsn string, s driver.Settings) (driver.DB, error) {
		names = append(names, dsn+" "+s["pool_size"])
		return nil, errors.New("no such option")
	})
	req := dsnJob(t, protocol.Opening{DSN: "x.db?a=b", File: "x.db"})
	got := serve(t, d, req)
	last := got[len(got)-1]
	if last.Result == nil || len(last.Result.DSN) != 1 || last.Result.DSN[0].Failed != "no such option" {
		t.Fatalf("%+v", last)
	}
	if want := "x.db?a=b 2,x.db?a=b 1,x.db?a=b 2,x.db?a=b 1"; strings.Join(names, ",") != want {
		t.Errorf("opened %v, want %s", names, want)
	}
}

// TestDSNLeavesItsDirectory checks that a job refuses a file outside of the opening's
// directory.
func TestDSNLeavesItsDirectory(t *testing.T) {
	for _, file := range []string{"../x.db", "/x.db", filepath.Join("a", "x.db")} {
		got := serve(t, newFake(), dsnJob(t, protocol.Opening{DSN: "x.db", File: file}))
		if last := got[len(got)-1]; last.Reason == nil || last.Reason.Code != protocol.CodeUsage {
			t.Errorf("%s: %+v", file, last)
		}
	}
}
