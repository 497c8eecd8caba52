package machine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/load"
)

// Reading holds the machine's load and disk speed at one moment.
type Reading struct {
	// Load is the load average of the last minute: the mean number of processes running or
	// ready to run. It is negative if it is not known, as on Windows.
	Load float64

	Fsync time.Duration // median of the times that fsyncTimes returns; 0: not known
}

// Look takes a reading. dir is the directory for databases.
func Look(dir string) (Reading, error) {
	times, err := fsyncTimes(dir)
	if err != nil {
		return Reading{}, fmt.Errorf("fsync latency: %w", err)
	}
	return Reading{loadAverage(), medianOf(times)}, nil
}

// loadAverage returns the load average of the last minute, or -1 if it is not known.
func loadAverage() float64 {
	if runtime.GOOS != "windows" { // on Windows gopsutil would start to compute its own average
		if avg, err := load.Avg(); err == nil {
			return avg.Load1
		}
	}
	return -1
}

// fsyncTimes writes 4 KiB to a file in dir 25 times, after one write that does not count. Each time it waits
// until the device has the data. It returns the times. (On macOS Go also flushes the device's own cache, which
// SQLite does only with fullfsync.)
func fsyncTimes(dir string) ([]time.Duration, error) {
	f, err := os.CreateTemp(dir, "sqlite3perf-fsync-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	times := make([]time.Duration, 1+25)
	for i := range times {
		block[0] = byte(i)
		start := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times[i] = time.Since(start)
	}
	return times[1:], nil
}

// medianOf returns the median of d, which must not be empty.
func medianOf(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Calibrate does a fixed amount of work in the CPU and in memory, about 10 ms in total, and returns how long
// it took. It returns five times the median of five passes, so a single interruption does not change the
// result, but a slower machine does.
func Calibrate() time.Duration {
	table := newTable()
	times := make([]time.Duration, 5)
	for i := range times {
		start := time.Now()
		sink = work(table)
		times[i] = time.Since(start)
	}
	return medianOf(times) * time.Duration(len(times))
}

// sink receives a result that nobody reads, so that the compiler does not remove the work.
var sink uint64 //nolint:unused // that is its purpose

const (
	tableLength = 1 << 19 // elements of 8 bytes: 4 MiB, more than a core's own cache
	chases      = 1 << 16
	mixes       = 1 << 19
)

// newTable links all elements of the table into one random cycle, with Sattolo's algorithm.
func newTable() []uint64 {
	t := make([]uint64, tableLength)
	for i := range t {
		t[i] = uint64(i)
	}
	random := uint64(1)
	for i := len(t) - 1; i > 0; i-- {
		random = mix(random)
		j := random % uint64(i)
		t[i], t[j] = t[j], t[i]
	}
	return t
}

// work first follows links through memory, then computes in the CPU only.
func work(table []uint64) uint64 {
	at := uint64(0)
	for range chases {
		at = table[at]
	}
	x := at + 1
	for range mixes {
		x = mix(x)
	}
	return x
}

// mix is one step of the random generator xorshift64.
func mix(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}
