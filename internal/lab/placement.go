package lab

import (
	"io"
	"os"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
)

// placement changes where in memory the executables of workers are. The system keeps an executable in its
// page cache, at the same physical addresses and in pieces of the same sizes, from run to run. The place
// seems to affect the speed of drivers: in four of five runs with the same executables, one driver took
// 20 % longer than in the fifth run, in every round. A run's confidence intervals can't show a difference
// that all its rounds share. So placement drops an executable from the page cache and reads it again, once
// per round. It can do this only on Linux, and only for files on a disk.
type placement struct {
	ran   map[string]map[*Case]bool // by path of an executable: the cases that used it since it was last dropped from the page cache and read again
	began time.Time                 // when the first executable was dropped and read again
	spent time.Duration             // total time for dropping executables and reading them again
}

// mostPlacing is the maximum share of a run's time for reading executables again; see [placement]. If the
// disk is slow, executables are read again less often.
const mostPlacing = 0.03

// renew is called before trials of the cases start. It drops an executable of the cases from the page cache
// and reads it again, if it has not done so before, or if one of the cases has run since then. It returns
// the paths of these executables. No worker may be running, because the pages of a running executable can't
// be dropped.
func (p *placement) renew(cases []*Case) (placed []string) {
	if p.ran == nil {
		p.ran, p.began = map[string]map[*Case]bool{}, time.Now()
	}
	for _, c := range cases {
		ran := p.ran[c.Worker]
		if ran == nil || ran[c] && p.spent.Seconds() <= mostPlacing*time.Since(p.began).Seconds() {
			begin := time.Now()
			if readAgain(c.Worker) {
				placed = append(placed, c.Worker)
			}
			p.spent += time.Since(begin)
			ran = map[*Case]bool{}
			p.ran[c.Worker] = ran
		}
		ran[c] = true
	}
	return placed
}

// readAgain drops a file from the page cache and reads it again. It reports whether it could do so.
func readAgain(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if size, cached, err := pagecache.Drop(f); err != nil || cached == size {
		return false
	}
	_, err = io.Copy(io.Discard, f)
	return err == nil
}
