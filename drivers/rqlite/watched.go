package rqlite

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
)

// request has the settings that are visible in a request to a node.
type request struct {
	level      string // level of consistency
	queued     bool
	statements int
}

// watched sends requests. While the field "watching" is true, it also records the settings of requests with
// statements. It adds them to the field "seen".
type watched struct {
	next     http.RoundTripper
	watching atomic.Bool

	mu   sync.Mutex
	seen []request
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.watching.Load() && r.GetBody != nil {
		if err := w.remember(r); err != nil {
			return nil, err
		}
	}
	return w.next.RoundTrip(r)
}

func (w *watched) remember(r *http.Request) error {
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	var list []json.RawMessage
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return err
	}
	q := r.URL.Query()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, request{q.Get("level"), q.Has("queue"), len(list)})
	return nil
}

// watch calls f, and returns the settings of all requests with statements that are sent while f
// runs.
func (w *watched) watch(f func()) []request {
	w.watching.Store(true)
	f()
	w.watching.Store(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}
