package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Examine collects the facts about this machine that matter for measuring, and times fsync in dir, the
// directory for databases. It runs no trials. It returns an error if it cannot write to dir.
func Examine(dir string) (*result.Checkup, error) {
	m, err := Read(dir)
	if err != nil {
		return nil, err
	}
	c := &result.Checkup{Machine: m, UsableCores: usableCores()}
	if l := loadAverage(); l >= 0 {
		c.Load = &l
	}
	if v, err := mem.VirtualMemory(); err == nil {
		c.AvailableBytes = new(int64(v.Available))
	}
	if v, err := mem.SwapMemory(); err == nil {
		c.SwapUsedBytes = new(int64(v.Used))
	}
	if v, err := disk.Usage(dir); err == nil {
		c.FreeBytes = new(int64(v.Free))
	}
	device := examine(c, dir) // read before fsyncTimes makes the disk busy
	c.Clock.ResolutionNS, c.Clock.ReadNS = readClock()

	before, known := device.counted()
	times, err := fsyncTimes(dir)
	if err != nil {
		return nil, fmt.Errorf("fsync latency: %w", err)
	}
	after, stillKnown := device.counted()
	c.Fsync.Count = len(times)
	c.Fsync.MedianNS, c.Fsync.SlowestNS = int64(medianOf(times)), int64(slices.Max(times))
	if known && stillKnown {
		c.Fsync.Writes, c.Fsync.Flushes = new(after.writes-before.writes), new(after.flushes-before.flushes)
	}
	return c, nil
}

// ioCounts is how many writes and flushes a block device has done since the system started.
type ioCounts struct{ writes, flushes int64 }

// readClock returns, in nanoseconds, the smallest step between two readings of the clock,
// and the mean time that a reading takes.
func readClock() (resolution, read int64) {
	const readings = 1 << 14
	start := time.Now()
	last := time.Duration(0)
	for range readings {
		now := time.Since(start)
		if step := int64(now - last); step > 0 && (resolution == 0 || step < resolution) {
			resolution = step
		}
		last = now
	}
	return resolution, int64(last) / readings
}
