package load

import (
	"net"
	"testing"
)

// A request that is answered just as its time is over takes its deadline with
// it: the next one has a connection of its own.
func TestExpireAsTheAnswerComes(t *testing.T) {
	for _, test := range []struct {
		began, expires int64
		kept           bool
	}{{5, 5, false}, {5, 4, true}} {
		client, server := net.Pipe()
		defer server.Close()
		c := newConnection(&run{Load: &Load{}})
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
