package lab_test

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// pythonScripts is a Python program that runs scripts on the worker's connections, as scripts and as
// statements with parameters. It stops at the first script that creates a file in the directory given as its
// third argument.
const pythonScripts = `
import importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
conn, ran = None, 0
for number, line in enumerate(sys.stdin):
    script, parameters = json.loads(line)
    if number % 1000 == 0:
        if conn:
            conn.close()
        conn = worker.connect(os.path.join(sys.argv[2], f"{number}.db"), {})
        conn.execute("CREATE TABLE t (a)")
    for run in (lambda: worker.run_script(conn, script), lambda: conn.execute(script, [1] * parameters).fetchall()):
        try:
            run()
            ran += 1
        except (worker.sqlite3.Error, worker.sqlite3.Warning):
            pass
    if os.listdir(sys.argv[3]):
        sys.exit(f"the script {script!r} made a file")
if number > 100 and ran < number // 20:
    sys.exit(f"only {ran} scripts ran")
`

// TestPythonScripts makes the Python worker run random scripts. The tests of all drivers use scripts of the
// same kind. No script may create a file. TEST_SCRIPTS=5000000 sets the number of scripts.
func TestPythonScripts(t *testing.T) {
	script := pythonWorker(t)
	outside := t.TempDir()
	cmd := exec.Command("python3", "-c", pythonScripts, script, t.TempDir(), outside)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		w := bufio.NewWriter(stdin)
		encoder := json.NewEncoder(w)
		n := drivertest.RandomScripts(2000)
		random := rand.New(rand.NewPCG(3, uint64(n)))
		for range n {
			sql := drivertest.RandomScript(random, filepath.Join(outside, "x"))
			if driver.DirectoryPragma(sql) != "" { // no workload can contain such a PRAGMA
				continue
			}
			parameters := 0
			for token := range sqltext.Tokens(sql) {
				if token.Kind == sqltext.Parameter {
					parameters++
				}
			}
			if err := encoder.Encode([]any{sql, parameters}); err != nil {
				break // the worker has printed why
			}
		}
		_ = w.Flush()
		_ = stdin.Close()
	}()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
