package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The limits for answers of a node. They exist because the node may belong to another person.
const (
	maxAnswer = 1 << 30 // limit in bytes of an answer to statements, or of a backup
	maxPage   = 1 << 20 // limit in bytes of a page about the node, such as /status
	maxFault  = 2 << 10 // bytes to read of an answer that is not 200 OK
)

// patience is the time in which a node must return a page about itself.
const patience = 5 * time.Second

// Bounded sends requests. It limits the length of answers, and the time for pages about the
// node. It does not limit the time of statements, because a trial has its own time limit.
type Bounded struct {
	Next  http.RoundTripper
	Named func(host string) error // returns an error for a host to which no request may go; nil allows all hosts
}

func (b *Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.Named != nil {
		if err := b.Named(r.URL.Host); err != nil {
			return nil, err
		}
	}
	given, cancel := r.Context(), context.CancelFunc(func() {})
	page := r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/db/")
	most := int64(maxAnswer)
	if page {
		var ctx context.Context
		ctx, cancel = context.WithTimeout(given, patience)
		r, most = r.WithContext(ctx), maxPage
	}
	late := func(err error) error {
		if page && given.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s has not answered %s within %v: is it stopped?", r.URL.Host, r.URL.Path, patience)
		}
		return err
	}
	resp, err := b.Next.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, late(err)
	}
	a := &answer{body: resp.Body, left: most, end: cancel, late: late, long: fmt.Errorf("%s answers %s with more than %d MiB", r.URL.Host, r.URL.Path, most>>20)}
	if resp.StatusCode != http.StatusOK {
		a.left, a.long = maxFault, io.EOF
	}
	resp.Body = a
	return resp, nil
}

type answer struct {
	body io.ReadCloser
	left int64
	long error // error to return when an answer exceeds the limit
	late func(error) error
	end  func()
}

func (a *answer) Read(b []byte) (int, error) {
	if a.left <= 0 {
		var one [1]byte
		if n, err := a.body.Read(one[:]); n == 0 {
			return 0, a.late(err)
		}
		return 0, a.long
	}
	n, err := a.body.Read(b[:min(int64(len(b)), a.left)])
	a.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.late(err)
	}
	return n, err
}

func (a *answer) Close() error {
	a.end()
	return a.body.Close()
}

// NotFollowed refuses redirects, because a node must not decide which host gets requests and the
// password.
func NotFollowed(r *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects requests to %.200s, and redirects are not followed: name that address if it is a node", r.URL.Host)
}

// Client is for requests whose time is not measured.
var Client = &http.Client{Transport: &Bounded{Next: http.DefaultTransport}, CheckRedirect: NotFollowed}
