package stacks

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// PerfFields is the argument for option -F of perf script. [ReadPerf] reads what perf script prints
// with this argument.
const PerfFields = "tid,time,ip,sym,dso"

// PerfFrequency is how often, per second of CPU time, perf samples each thread. It is a prime number,
// so samples do not synchronize with timers.
const PerfFrequency = 997

// ReadPerf reads the output of perf script. The parameter "clock" has the times during which the
// worker's clock ran. ReadPerf ignores samples taken at other times and samples of the profiler
// itself. It adds up equal stacks.
func ReadPerf(r io.Reader, clock []protocol.Stretch) ([]Stack, error) {
	var list []Stack
	var at distinct.Index[string] // the index of each stack in "list"
	var frames []Frame
	counts, inSample := false, false
	end := func() {
		if inSample && counts && !slices.ContainsFunc(frames, func(f Frame) bool { return ofProfiler(f.Function) }) {
			i := at.Of(fmt.Sprint(frames))
			if i == len(list) {
				list = append(list, Stack{Frames: frames})
			}
			list[i].Samples++
			list[i].Value += int64(time.Second) / PerfFrequency
		}
		frames, inSample = nil, false
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "":
			end()
		case line[0] != '\t':
			end()
			t, err := perfTime(line)
			if err != nil {
				return nil, err
			}
			counts, inSample = during(t, clock), true
		case counts:
			frames = append(frames, perfFrame(line))
		}
	}
	end()
	return list, lines.Err()
}

// perfTime returns the time of a sample in nanoseconds. The parameter "line" is the first line of
// the sample. It has the number of a thread, and seconds followed by a colon.
func perfTime(line string) (int64, error) {
	fields := strings.Fields(line)
	if len(fields) >= 2 {
		seconds, fraction, ok := strings.Cut(strings.TrimSuffix(fields[1], ":"), ".")
		s, err := strconv.ParseInt(seconds, 10, 64)
		f, ferr := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		if ok && err == nil && ferr == nil {
			return s*1e9 + f, nil
		}
	}
	return 0, fmt.Errorf("perf script printed %.80q: want a thread and a time", line)
}

func during(at int64, clock []protocol.Stretch) bool {
	return slices.ContainsFunc(clock, func(c protocol.Stretch) bool { return c.BeginNS <= at && at <= c.EndNS })
}

// perfFrame reads a line with an address, a function and, in parentheses, the function's
// object file.
func perfFrame(line string) Frame {
	_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.Replace(rest, " (deleted))", ")", 1)
	var f Frame
	if i := strings.LastIndex(rest, " ("); i >= 0 {
		rest, f.Object = rest[:i], strings.TrimSuffix(rest[i+2:], ")")
	}
	f.Function = strings.TrimSuffix(strings.TrimSpace(rest), ".abi0")
	// In pthread_mutex_lock@@GLIBC_2.2.5, the part after @@ is the version of the symbol.
	// malloc@plt is a function different from malloc.
	if name, version, _ := strings.Cut(f.Function, "@"); version != "plt" {
		f.Function = name
	}
	return f
}
