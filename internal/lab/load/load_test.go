package load_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
)

// serve starts a server and returns its address.
func serve(t testing.TB, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// squares answers /?n=7 with 49.
func squares(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, n*n)
}

func numbers(n int) []load.Request {
	list := make([]load.Request, n)
	for i := range list {
		list[i] = load.Request{Target: fmt.Sprint("/?n=", i), Body: fmt.Append(nil, i*i)}
	}
	return list
}

func run(t testing.TB, l load.Load) *load.Outcome {
	t.Helper()
	o, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// errorsOf returns the number of errors by kind.
func errorsOf(o *load.Outcome) map[load.Kind]int64 {
	m := map[load.Kind]int64{}
	for _, e := range o.Errors {
		m[e.Kind] = e.Count
	}
	return m
}

func TestClosedLoop(t *testing.T) {
	var seen [10]atomic.Int64
	var connections sync.Map
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		seen[n].Add(1)
		connections.Store(r.RemoteAddr, true)
		squares(w, r)
	})
	var checked atomic.Int64
	o := run(t, load.Load{Address: addr, Requests: numbers(10), Connections: 7, Count: 1000, Check: func(k int64, body []byte) error {
		checked.Add(1)
		if want := fmt.Sprint(k % 10 * (k % 10)); string(body) != want {
			return fmt.Errorf("request %d: %s", k, body)
		}
		return nil
	}})
	if o.Sent != 1000 || o.OK != 1000 || o.Failed() != 0 || o.Unsent != 0 || checked.Load() != 1000 {
		t.Errorf("%+v", o)
	}
	if diff := cmp.Diff(map[int]int64{200: 1000}, o.Statuses); diff != "" {
		t.Error(diff)
	}
	if n := o.Latency.Summary("").Count; n != 1000 || o.Wall <= 0 || o.Rate() <= 0 || o.Late != nil {
		t.Errorf("%d latencies, wall time %v, rate %v", n, o.Wall, o.Rate())
	}
	for i := range seen {
		if n := seen[i].Load(); n != 100 {
			t.Errorf("request %d was sent %d times", i, n)
		}
	}
	kept := 0
	connections.Range(func(any, any) bool { kept++; return true })
	if kept != 7 {
		t.Errorf("%d connections, want 7 that are kept alive", kept)
	}
}

func TestDuration(t *testing.T) {
	for _, rate := range []float64{0, 500} {
		o := run(t, load.Load{Address: serve(t, squares), Requests: numbers(3), Connections: 2, Duration: 50 * time.Millisecond, Rate: rate})
		if o.OK == 0 || o.OK != o.Sent || o.Wall < 40*time.Millisecond && rate == 0 {
			t.Errorf("rate %v: %+v", rate, o)
		}
		if rate > 0 && o.OK != 25 {
			t.Errorf("%d requests fell due in 50 ms at a rate of 500, want 25", o.OK)
		}
	}
}

// TestAnswersAreChecked checks that every answer is compared with the expected one.
func TestAnswersAreChecked(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/wrong":
			fmt.Fprint(w, "17")
		case "/gone":
			http.Error(w, "not here", http.StatusGone)
		case "/close":
			w.Header().Set("Connection", "close")
			fmt.Fprint(w, "16")
		case "/chunks":
			for _, c := range "16" {
				fmt.Fprint(w, string(c))
				w.(http.Flusher).Flush()
			}
		case "/long":
			w.Header().Set("X-Padding", strings.Repeat("x", 9000))
			fmt.Fprint(w, strings.Repeat("0123456789", 2000))
		case "/abort":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "16")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprint(w, "16")
		}
	})
	long := []byte(strings.Repeat("0123456789", 2000))
	body := []byte("16")
	for _, c := range []struct {
		request load.Request
		errors  map[load.Kind]int64
		first   string
	}{
		{load.Request{Target: "/", Body: body}, nil, ""},
		{load.Request{Target: "/wrong"}, nil, ""},
		{load.Request{Target: "/close", Body: body}, nil, ""},
		{load.Request{Target: "/chunks", Body: body}, nil, ""},
		{load.Request{Target: "/long", Body: long}, nil, ""},
		{load.Request{Target: "/wrong", Body: body}, map[load.Kind]int64{load.Body: 6}, `GET /wrong: answer "17", expected "16"`},
		{load.Request{Target: "/gone", Body: body}, map[load.Kind]int64{load.Status: 6}, `GET /gone: status 410: "not here\n"`},
		{load.Request{Target: "/abort", Body: body}, map[load.Kind]int64{load.Lost: 6}, "unexpected EOF"},
	} {
		t.Run(c.request.Target, func(t *testing.T) {
			o := run(t, load.Load{Address: addr, Requests: []load.Request{c.request}, Connections: 2, Count: 6})
			if c.errors == nil {
				c.errors = map[load.Kind]int64{}
			}
			if diff := cmp.Diff(c.errors, errorsOf(o)); diff != "" {
				t.Error(diff)
			}
			if len(o.Errors) > 0 && o.Errors[0].First != c.first {
				t.Errorf("%+v, want %s", o.Errors[0], c.first)
			}
			if o.OK+o.Failed() != 6 || o.Latency.Summary("").Count != 6 || o.Rate() != 6/o.Wall.Seconds() {
				t.Errorf("%+v", o)
			}
		})
	}
}

// raw starts a server that answers each request with the same bytes. If closeAfter
// is not 0, the server closes the connection after that many requests.
func raw(t *testing.T, answer string, closeAfter int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for n := 1; ; n++ {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if _, err := io.WriteString(c, answer); err != nil || n == closeAfter {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestWhatIsNoResponse(t *testing.T) {
	for _, c := range []struct {
		answer string
		close  int
		kind   load.Kind
	}{
		{"SSH-2.0-OpenSSH_9.6\r\n\r\n", 0, load.Malformed},
		{"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n16", 0, load.Malformed},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n16", 0, load.Malformed},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n16", 0, load.Malformed},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n16\r\n0\r\n\r\n", 0, load.Malformed},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n16", 1, load.Lost},
		{"HTTP/1.1 200 OK\r\n", 1, load.Lost},
		{"", 1, load.Lost},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n16", 0, load.Timeout},
		{"", 0, load.Timeout},
	} {
		o := run(t, load.Load{Address: raw(t, c.answer, c.close), Requests: numbers(1), Connections: 1, Count: 2, Timeout: 300 * time.Millisecond})
		if diff := cmp.Diff(map[load.Kind]int64{c.kind: 2}, errorsOf(o)); diff != "" {
			t.Errorf("%q: %s", c.answer, diff)
		}
	}
	// Special cases: an interim response, a body that ends with the connection, and an
	// unrequested keep-alive in HTTP/1.0.
	for _, c := range []struct {
		answer string
		close  int
	}{
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0", 0},
		{"HTTP/1.1 200 OK\r\n\r\n0", 1},
		{"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n0", 0},
		{"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1;x=y\r\n0\r\n0\r\nTrailer: x\r\n\r\n", 0},
	} {
		if o := run(t, load.Load{Address: raw(t, c.answer, c.close), Requests: numbers(1), Connections: 1, Count: 5}); o.OK != 5 {
			t.Errorf("%q: %+v", c.answer, o)
		}
	}
}

// TestServerDies checks that Run returns soon if the server dies under load, and that the outcome reports the
// failure.
func TestServerDies(t *testing.T) {
	for _, rate := range []float64{0, 1e6} {
		t.Run(fmt.Sprint("rate ", rate), func(t *testing.T) {
			var n atomic.Int64
			died := make(chan struct{})
			var s *httptest.Server
			s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 500 {
					s.Listener.Close()
					go func() {
						s.CloseClientConnections()
						close(died)
					}()
				}
				squares(w, r)
			}))
			defer s.Close()
			o := run(t, load.Load{Address: s.Listener.Addr().String(), Requests: numbers(10), Connections: 5, Count: 1e9, Rate: rate})
			<-died
			e := errorsOf(o)
			if o.OK < 490 || e[load.Connect] != 5 || o.Unsent != 1e9-o.Sent || o.Unsent == 0 || o.Sent != o.OK+o.Failed() {
				t.Errorf("%d sent, %d answered, %d not sent, errors %+v", o.Sent, o.OK, o.Unsent, o.Errors)
			}
		})
	}
}

// TestServerHangs checks that each request fails at its timeout if the server never answers.
func TestServerHangs(t *testing.T) {
	release := make(chan struct{})
	addr := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	o := run(t, load.Load{Address: addr, Requests: numbers(1), Connections: 3, Count: 6, Timeout: 30 * time.Millisecond})
	if diff := cmp.Diff(map[load.Kind]int64{load.Timeout: 6}, errorsOf(o)); diff != "" {
		t.Error(diff)
	}
	if o.Errors[0].First != "no complete answer within 30ms" {
		t.Error(o.Errors[0].First)
	}
}

func TestCancel(t *testing.T) {
	release := make(chan struct{})
	for _, rate := range []float64{0, 10, 0.001} {
		addr := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(why) }) // the load has connected by then
		l := load.Load{Address: addr, Requests: numbers(1), Connections: 2, Count: 100, Rate: rate}
		o, err := l.Run(ctx)
		if !errors.Is(err, why) || o == nil || o.OK != 0 || o.Failed() != 0 {
			t.Errorf("rate %v: %v, %+v", rate, err, o)
		}
	}
	close(release)
}

// TestLatencyFromIntendedStart checks latencies when a server stalls. At a fixed rate, a latency
// counts from the time when the request was due. So it includes the wait of a request that falls
// due during the stall, even if the request could not be sent yet. In closed loop, only requests
// that were already sent have waited.
func TestLatencyFromIntendedStart(t *testing.T) {
	const stall = 200 * time.Millisecond
	load1 := func(rate float64) *load.Outcome {
		var n atomic.Int64
		var mu sync.Mutex
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if n.Add(1) == 10 {
				time.Sleep(stall)
			}
			mu.Unlock()
			squares(w, r)
		})
		return run(t, load.Load{Address: addr, Requests: numbers(10), Connections: 2, Count: 400, Rate: rate})
	}
	open, closed := load1(1000), load1(0)
	// Of 400 requests at 1000 per second, 200 fall due during the stall. They wait for 0 to
	// 200 ms.
	if p := time.Duration(open.Latency.Summary("").P90NS); p < stall/2 {
		t.Errorf("90th percentile %v at a fixed rate, though half of the requests met a stall of %v", p, stall)
	}
	if p := time.Duration(closed.Latency.Summary("").P90NS); p > stall/2 {
		t.Errorf("90th percentile %v in closed loop, where two requests met the stall", p)
	}
	if c := open.Late.Summary("").Count; c != 400 {
		t.Errorf("%d requests have a recorded delay, want 400", c)
	}
}

func TestImpossible(t *testing.T) {
	good := load.Load{Address: "127.0.0.1:1", Requests: numbers(1), Connections: 1, Count: 1}
	for _, c := range []struct {
		change func(*load.Load)
		want   string
	}{
		{func(l *load.Load) { l.Requests = nil }, "no requests"},
		{func(l *load.Load) { l.Connections = 0 }, "0 connections: want at least 1"},
		{func(l *load.Load) { l.Count = 0 }, "either a count or a duration"},
		{func(l *load.Load) { l.Duration = 1 }, "either a count or a duration"},
		{func(l *load.Load) { l.Rate = -1 }, "rate of -1"},
		{func(*load.Load) {}, "connection 1 of 1: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		l := good
		c.change(&l)
		if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestPauses lets connections pause together. During a pause no request may be under way, and the pauses
// count neither in the duration of the load nor in a latency.
func TestPauses(t *testing.T) {
	var under, served, pauses atomic.Int64
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		under.Add(1)
		defer under.Add(-1)
		served.Add(1)
		squares(w, r)
	})
	const each, pause = 10, 20 * time.Millisecond
	l := load.Load{Address: addr, Requests: numbers(10), Connections: 3, Count: 100, Slice: each, Pause: func(sofar time.Duration) error {
		n := pauses.Add(1)
		if under.Load() != 0 || served.Load() != each*n {
			t.Errorf("pause %d: %d requests were sent, %d are under way", n, served.Load(), under.Load())
		}
		time.Sleep(pause)
		return nil
	}}
	began := time.Now()
	o := run(t, l)
	if n := pauses.Load(); n != 9 || o.OK != 100 || o.Latency.Count() != 100 {
		t.Errorf("%d pauses, %+v", n, o)
	}
	if o.Wall > time.Since(began)-9*pause {
		t.Errorf("the load took %v, its pauses at least %v", o.Wall, 9*pause)
	}
}

// TestPauseFails checks that an error of Pause ends the load.
func TestPauseFails(t *testing.T) {
	l := load.Load{Address: serve(t, squares), Requests: numbers(10), Connections: 3, Duration: time.Minute, Slice: 5,
		Pause: func(time.Duration) error { return errors.New("no more") }}
	if o := run(t, l); o.Sent < 5 || o.Sent > 8 {
		t.Errorf("%d requests were sent, want 5 to 8: an error in the first pause must end the load", o.Sent)
	}
}
