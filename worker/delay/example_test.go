package delay_test

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/delay"
)

// If a proxy delays each direction by 5 ms, an answer takes at least 10 ms.
func Example() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	go func() {
		c, err := server.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
		}
	}()

	p, err := delay.Start(delay.Config{Target: server.Addr().String(), Delay: 5 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		panic(err)
	}
	defer c.Close()

	begin := time.Now()
	fmt.Fprint(c, "hello")
	answer := make([]byte, 5)
	_, err = io.ReadFull(c, answer)
	fmt.Println(string(answer), err, time.Since(begin) >= 10*time.Millisecond)
	// Output: hello <nil> true
}
