package worker

import (
	"encoding/binary"
	"time"
)

// walWatch counts the restarts of a write-ahead log. A writer restarts the log when a checkpoint has
// copied all of it and no reader uses it. During a long read the log only grows.
type walWatch struct {
	path  string
	first uint32
	seen  bool
	stop  chan struct{}
	done  chan struct{}
}

// walPoll is the time between two attempts to read the header of a log that does not exist yet.
const walPoll = 5 * time.Millisecond

// watchWAL waits in the background until the log of a database has a header, and notes the header's
// first salt. [walWatch.restarts] ends the waiting, and compares that salt with the current one.
func watchWAL(database string) *walWatch {
	w := &walWatch{path: database + "-wal", stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for {
			if w.first, w.seen = walSalt(w.path); w.seen {
				return
			}
			select {
			case <-w.stop:
				return
			case <-time.After(walPoll):
			}
		}
	}()
	return w
}

// The method "restarts" ends the watch and returns how many times the log has restarted since its
// header was first read. It returns 0 if the header could not be read.
func (w *walWatch) restarts() int64 {
	close(w.stop)
	<-w.done
	last, ok := walSalt(w.path)
	if !w.seen || !ok {
		return 0
	}
	return int64(last - w.first)
}

// walSalt returns the first salt in a log's header. SQLite adds 1 to the salt each time it
// restarts the log: https://www.sqlite.org/fileformat.html#the_write_ahead_log
func walSalt(path string) (salt uint32, ok bool) {
	h, err := header(path, 32)
	if err != nil || h == nil {
		return 0, false
	}
	return binary.BigEndian.Uint32(h[16:]), true
}
