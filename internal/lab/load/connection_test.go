package load

import (
	"net"
	"runtime"
	"testing"
)

// TestExpireAsTheAnswerComes checks a request that is answered at the moment when it times out. The connection
// must then be closed, because its expired deadline would also stop the next request.
func TestExpireAsTheAnswerComes(t *testing.T) {
	for _, test := range []struct {
		began, expires int64
		kept           bool
	}{{5, 5, false}, {5, 4, true}} {
		client, server := net.Pipe()
		defer server.Close()
		c := newConnection(newRun(&Load{}), 0)
		c.conn = client
		c.sent.Store(test.began)
		c.expire(test.expires)
		c.answered()
		if kept := c.conn != nil; kept != test.kept || c.sent.Load() != 0 {
			t.Errorf("%+v: kept %v, sent %d", test, kept, c.sent.Load())
		}
		c.close()
	}
}

// TestManyConnectionsAreSmall limits the memory for ten thousand connections that are not open yet. With a
// histogram for each connection, they would need 2.4 GB.
func TestManyConnectionsAreSmall(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := newRun(&Load{Connections: 10_000, Rate: rate})
		for i := range r.Connections {
			r.connections = append(r.connections, newConnection(r, i))
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 60<<20 {
			t.Errorf("at a rate of %v: %d bytes", rate, bytes)
		}
		runtime.KeepAlive(r)
	}
}
