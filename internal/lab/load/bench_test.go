package load_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
	"github.com/sqlite3perf/sqlite3perf/worker/httpserver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestMain makes the test binary a server that does nothing if LOAD_TEST_SERVER is set. Package lab uses the
// same kind of server to measure the greatest rate that the load generator can reach.
func TestMain(m *testing.M) {
	if os.Getenv("LOAD_TEST_SERVER") == "" {
		os.Exit(m.Run())
	}
	l, err := httpserver.Listen(httpserver.Anywhere)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(l, httpserver.New(context.Background(), &plan.HTTP{}, nil)))
	os.Exit(1)
}

// The function "nothing" starts a server that answers every request without doing any work, in a
// separate process. It returns the server's address.
func nothing(b *testing.B) string {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "LOAD_TEST_SERVER=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

const (
	clients  = 50
	requests = 100_000
)

func closedLoop(b *testing.B, addr string) float64 {
	b.Helper()
	o := run(b, load.Load{Address: addr, Requests: []load.Request{{Target: "/?id=1", Body: []byte("{}")}}, Connections: clients, Count: requests})
	if o.OK != requests {
		b.Fatalf("%+v", o.Errors)
	}
	return o.Rate()
}

var perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// BenchmarkHey runs the load generator and the program hey in turns against one server that does nothing, and
// reports the median of the ratios of their rates. hey checks neither status nor body.
func BenchmarkHey(b *testing.B) {
	hey := filepath.Join(b.TempDir(), "hey")
	build := exec.Command("go", "build", "-o", hey, "github.com/rakyll/hey")
	build.Dir = "../../../tools/hey"
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building hey: %v\n%s", err, out)
	}
	addr := nothing(b)
	var ours, theirs, ratios []float64
	for b.Loop() {
		o := closedLoop(b, addr)
		out, err := exec.Command(hey, "-c", strconv.Itoa(clients), "-n", strconv.Itoa(requests), "http://"+addr+"/?id=1").Output()
		if err != nil {
			b.Fatal(err)
		}
		m := perSecond.FindSubmatch(out)
		if m == nil || !bytes.Contains(out, []byte(fmt.Sprintf("[200]\t%d responses", requests))) {
			b.Fatalf("hey says %s", out)
		}
		t, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			b.Fatal(err)
		}
		ours, theirs, ratios = append(ours, o), append(theirs, t), append(ratios, o/t)
	}
	b.ReportMetric(middle(ours), "req/s")
	b.ReportMetric(middle(theirs), "hey-req/s")
	b.ReportMetric(middle(ratios), "x-of-hey")
	b.ReportMetric(slices.Min(ratios), "x-of-hey-min")
}

func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkRate sends requests for four seconds at half of the rate that a closed loop reaches. It reports the
// greatest deviation from this half rate, and the latency.
func BenchmarkRate(b *testing.B) {
	addr := nothing(b)
	var errs, p50, p99, late []float64
	for b.Loop() {
		rate := closedLoop(b, addr) / 2
		o := run(b, load.Load{
			Address: addr, Requests: []load.Request{{Target: "/?id=1", Body: []byte("{}")}},
			Connections: clients, Rate: rate, Duration: 4 * time.Second,
		})
		s := o.Latency.Summary("")
		errs = append(errs, 100*max(1-o.Rate()/rate, o.Rate()/rate-1))
		p50, p99, late = append(p50, float64(s.P50NS)/1e3), append(p99, float64(s.P99NS)/1e3), append(late, float64(o.Late.Summary("").P99NS)/1e3)
	}
	b.ReportMetric(slices.Max(errs), "%-off-at-worst")
	b.ReportMetric(middle(p50), "p50-µs")
	b.ReportMetric(middle(p99), "p99-µs")
	b.ReportMetric(middle(late), "late-p99-µs")
}
