package lab_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestPythonWorkerJobs checks that the Python worker refuses jobs that it does not know, and that it then does
// not touch the database.
func TestPythonWorkerJobs(t *testing.T) {
	python := pythonWorker(t)
	path := filepath.Join(t.TempDir(), "test.db")
	for name, job := range map[string]protocol.Job{
		"commit": {Commit: &protocol.Commit{Plan: &plan.Plan{}, Transactions: 1, Attempts: 1}},
		"judge":  {Judge: &protocol.Judge{Paths: []string{path}}},
	} {
		_, err := lab.RunJob(t.Context(), python, lab.JobRequest{Job: job, Path: path}, nil)
		if told, ok := errors.AsType[*lab.JobError](err); !ok || told.Reason.Code != protocol.CodeUsage || !strings.Contains(told.Reason.Message, "the job bench only, not "+name) {
			t.Errorf("job %s: %v", name, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("job %s has touched the database: %v", name, err)
		}
	}
}
