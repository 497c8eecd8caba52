package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Load describes the requests that the service's clients send.
type Load struct {
	Requests int // number of requests that all clients together send
	Clients  int // number of clients that run at the same time
	Users    int // number of users that Fill has added
	Books    int // number of books that Fill has added
}

// Outcome is the result of a load.
type Outcome struct {
	Took     time.Duration
	Statuses map[int]int // number of responses by HTTP status
}

// Run starts the service on a port of this machine, lets clients use it, and stops it. Each
// client uses its number as the seed of its requests, so the load is the same each time. Only
// the order of different clients' requests differs.
func (l Load) Run(ctx context.Context, s *Shop) (*Outcome, error) {
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	out := &Outcome{Statuses: map[int]int{}}
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	for n := range l.Clients {
		wg.Go(func() {
			c := &client{
				load: l, address: server.URL, http: server.Client(), random: rand.New(rand.NewPCG(7, uint64(n))),
				left: l.Requests/l.Clients + min(1, max(0, l.Requests%l.Clients-n)), statuses: map[int]int{},
			}
			err := c.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			if failed == nil {
				failed = err
			}
			for status, count := range c.statuses {
				out.Statuses[status] += count
			}
		})
	}
	wg.Wait()
	out.Took = time.Since(began)
	return out, failed
}

// client acts as one user after another.
type client struct {
	load     Load
	address  string
	http     *http.Client
	random   *rand.Rand
	left     int // requests to send
	token    string
	statuses map[int]int
}

func (c *client) run(ctx context.Context) error {
	for c.left > 0 {
		var session struct{ Token string }
		if err := c.request(ctx, "POST", "/login", map[string]string{"email": Email(1 + c.random.IntN(c.load.Users))}, &session); err != nil {
			return err
		}
		c.token = session.Token
		for range 3 + c.random.IntN(20) {
			if err := c.visit(ctx); err != nil {
				return err
			}
		}
		if err := c.request(ctx, "POST", "/logout", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) visit(ctx context.Context) error {
	switch n := c.random.IntN(100); {
	case n < 45:
		return c.request(ctx, "GET", fmt.Sprint("/books/", c.book()), nil, nil)
	case n < 60:
		return c.request(ctx, "GET", fmt.Sprint("/books?after=", c.book()), nil, nil)
	case n < 70:
		return c.request(ctx, "GET", fmt.Sprintf("/books?author=author%%20%d", c.random.IntN(1+c.load.Books/10)), nil, nil)
	case n < 85:
		return c.request(ctx, "GET", "/orders", nil, nil)
	case n < 99:
		items := make([]Item, 1+c.random.IntN(4))
		for i := range items {
			items[i] = Item{Book: int64(c.book()), Quantity: 1 + c.random.Int64N(2)}
		}
		var order struct{ ID int64 }
		if err := c.request(ctx, "POST", "/orders", items, &order); err != nil || order.ID == 0 {
			return err
		}
		return c.request(ctx, "POST", fmt.Sprintf("/orders/%d/pay", order.ID), nil, nil)
	default:
		return c.request(ctx, "GET", "/bestsellers", nil, nil)
	}
}

// book returns the ID of a random book. Small IDs are more probable than large ones.
func (c *client) book() int {
	return 1 + int(float64(c.load.Books)*c.random.Float64()*c.random.Float64())
}

// request sends the value of the parameter "in" as the body of a request, and decodes the response into the
// parameter "out". Both may be nil. It does nothing if the client has no requests left to send.
func (c *client) request(ctx context.Context, method, path string, in, out any) error {
	if c.left == 0 {
		return nil
	}
	c.left--
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.address+path, &body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	c.statuses[answer.StatusCode]++
	data, err := io.ReadAll(answer.Body)
	if err != nil || out == nil || answer.StatusCode != http.StatusOK {
		return err
	}
	return json.Unmarshal(data, out)
}
