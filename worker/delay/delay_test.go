package delay

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// fakeClock is a clock that only the test moves.
type fakeClock struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan time.Time]time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Unix(0, 0), waiting: map[chan time.Time]time.Time{}}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Until(t time.Time) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reached := make(chan time.Time, 1)
	if !c.now.Before(t) {
		reached <- c.now
	} else {
		c.waiting[reached] = t
	}
	return reached, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, reached)
	}
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for reached, t := range c.waiting {
		if !c.now.Before(t) {
			reached <- c.now
			delete(c.waiting, reached)
		}
	}
}

// pair starts a proxy, and returns both ends of a connection through that proxy.
func pair(t *testing.T, c Config, clock clock) (p *Proxy, client, server net.Conn) {
	t.Helper()
	p, accepted := listen(t, c, clock)
	client = dial(t, p)
	// The proxy dials the target as soon as the client has connected, before it has read any byte.
	server = <-accepted
	return p, client, server
}

// listen starts a proxy in front of a server. The channel has the connections that the server
// accepts.
func listen(t *testing.T, c Config, clock clock) (*Proxy, <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c.Target = l.Addr().String()
	p, err := start(c, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- s
		}
	}()
	return p, accepted
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The function "eventually" waits until is() returns true. After a minute it fails the test.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// The function "quiet" waits until the proxy has delivered all bytes, and returns how many.
func quiet(t *testing.T, p *Proxy) int64 {
	t.Helper()
	eventually(t, "nothing is held", func() bool { return p.Held() == 0 })
	return p.Passed()
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// TestEachByteIsDelayed sends a second text while the first is under way, and checks that each text
// takes exactly the delay.
func TestEachByteIsDelayed(t *testing.T) {
	clock := newFakeClock()
	p, client, server := pair(t, Config{Delay: 10 * time.Second}, clock)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		before := quiet(t, p)
		send(t, way[0], "first")
		eventually(t, "the first is read", func() bool { return p.Held() == 5 })
		clock.advance(6 * time.Second)
		send(t, way[0], "second")
		eventually(t, "the second is read while the first waits", func() bool { return p.Held() == 11 })
		if got := p.Passed(); got != before {
			t.Fatalf("%d bytes were delivered before their time", got-before)
		}
		clock.advance(4 * time.Second)
		receive(t, way[1], "first")
		eventually(t, "the second is still held", func() bool { return p.Held() == 6 })
		clock.advance(6 * time.Second)
		receive(t, way[1], "second")
	}
}

// TestDelay checks the time of a round trip with a real clock.
func TestDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	_, client, server := pair(t, Config{Delay: delay}, realClock{})
	go func() { _, _ = io.Copy(server, server) }()
	begin := time.Now()
	send(t, client, "there and back")
	receive(t, client, "there and back")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("a round trip took %v, less than twice the delay of %v", took, delay)
	}
}

// TestBytes sends more bytes than the window in both directions at once, and checks that they
// arrive unchanged.
func TestBytes(t *testing.T) {
	_, client, server := pair(t, Config{Delay: time.Millisecond}, realClock{})
	data := make([]byte, 2*Window+12345)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		wg.Go(func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 1+rand.IntN(100_000))
				if _, err := way[0].Write(rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
			if err := closeWrite(way[0]); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			got, err := io.ReadAll(way[1]) // returns when the proxy passes on the end of the stream
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes arrived, or their content has changed; error %v", len(got), len(data), err)
			}
		})
	}
	wg.Wait()
}

// TestWindow checks that a proxy stops reading when it holds Window bytes.
func TestWindow(t *testing.T) {
	clock := newFakeClock()
	p, client, server := pair(t, Config{Delay: time.Second}, clock)
	sent := make(chan int64)
	go func() {
		n, _ := io.Copy(client, io.LimitReader(zeros{}, 16*Window))
		_ = closeWrite(client)
		sent <- n
	}()
	eventually(t, "the window is full", func() bool { return p.Held() > Window*3/4 })
	time.Sleep(50 * time.Millisecond) // time in which the proxy must not go on reading
	// In addition to the window, the proxy may hold a chunk that exceeds the window, a chunk
	// that waits for room, and a chunk that is being delivered.
	if held := p.Held(); held > Window+3*chunkSize {
		t.Errorf("the proxy holds %d bytes, want at most the window of %d and 3 chunks", held, Window)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-time.After(time.Millisecond):
				clock.advance(time.Second)
			case <-t.Context().Done():
				return
			}
		}
	}()
	if n, err := io.Copy(io.Discard, server); err != nil || n != <-sent || n != 16*Window {
		t.Errorf("%d bytes arrived, error %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestCut(t *testing.T) {
	p, accepted := listen(t, Config{}, realClock{})
	client := dial(t, p)
	server := <-accepted
	send(t, client, "before")
	receive(t, server, "before")
	passed := quiet(t, p)
	p.Cut()
	send(t, client, "request")
	send(t, server, "response")
	eventually(t, "both are held", func() bool { return p.Held() == 15 })
	late := dial(t, p)
	send(t, late, "hello")
	if p.Passed() != passed || len(accepted) != 0 {
		t.Error("bytes were delivered although the connection is cut")
	}
	p.Heal()
	receive(t, server, "request")
	receive(t, client, "response")
	receive(t, <-accepted, "hello")
}

// TestCutFrom checks that CutFrom cuts the connection of only one of two dialers.
func TestCutFrom(t *testing.T) {
	var mu sync.Mutex
	names := map[string]string{}
	p, accepted := listen(t, Config{From: func(a net.Addr) string {
		mu.Lock()
		defer mu.Unlock()
		return names[a.String()]
	}}, realClock{})
	var clients, servers []net.Conn
	for _, name := range []string{"a", "b"} {
		c := dial(t, p)
		send(t, c, name)
		s := <-accepted
		receive(t, s, name)
		mu.Lock()
		names[c.LocalAddr().String()] = name // the name is known only from now on
		mu.Unlock()
		clients, servers = append(clients, c), append(servers, s)
	}
	passed := quiet(t, p)
	p.CutFrom("a")
	send(t, clients[0], "from a")
	send(t, servers[0], "to a")
	eventually(t, "both are held", func() bool { return p.Held() == 10 })
	if p.Passed() != passed {
		t.Error("bytes were delivered although the connection is cut")
	}
	send(t, clients[1], "from b")
	receive(t, servers[1], "from b")
	p.Heal()
	receive(t, servers[0], "from a")
	receive(t, clients[0], "to a")
}

// TestEnds checks that the end of a client's connection reaches the target, and that the proxy
// closes the client's connection if the target does not listen.
func TestEnds(t *testing.T) {
	_, client, server := pair(t, Config{}, realClock{})
	send(t, client, "last words")
	client.Close()
	receive(t, server, "last words")
	if _, err := server.Read(make([]byte, 1)); err == nil {
		t.Error("the server's connection is still open after the client has closed its own")
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p, err := Start(Config{Target: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := dial(t, p).Read(make([]byte, 1)); err == nil {
		t.Error("the client's connection is still open although the target does not listen")
	}
}

// TestClose checks that closing a proxy ends waiting connections, including cut ones.
func TestClose(t *testing.T) {
	p, client, _ := pair(t, Config{Delay: time.Hour}, realClock{})
	send(t, client, "never")
	eventually(t, "it is held", func() bool { return p.Held() == 5 })
	p.Cut()
	waiting := dial(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{client, waiting} {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is still open after Close")
		}
	}
	if p.Held() != 0 {
		t.Errorf("the closed proxy still holds %d bytes", p.Held())
	}
	if _, err := Start(Config{Delay: -1}); err == nil {
		t.Error("a negative delay is accepted")
	}
}
