package load_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
)

type answer struct {
	status int
	body   string
	keep   bool
}

func read(r io.Reader) (list []answer, err error) {
	err = load.ReadResponses(r, func(status int, body []byte, keep bool) {
		list = append(list, answer{status, string(body), keep})
	})
	return list, err
}

// FuzzResponse compares the responses that this package and net/http read from the same bytes. If this
// package accepts a response, net/http must read the same response. (net/http may accept responses that this
// package does not accept.) The result must not depend on the pieces in which the bytes arrive.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n16HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0a;x\r\n0123456789\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nrest",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.0 200 \r\n00:\r\nTrAnsfer-EnCoding:Chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := read(bytes.NewReader(data))
		pieces, perr := read(iotest.OneByteReader(bytes.NewReader(data)))
		if !slices.Equal(list, pieces) || (err == nil) != (perr == nil) {
			t.Fatalf("%+v, %v, and in single bytes %+v, %v", list, err, pieces, perr)
		}
		in := bufio.NewReader(bytes.NewReader(data))
		for i, got := range list {
			r, body := final(t, in, got) //nolint:bodyclose // final does
			want := answer{r.StatusCode, body, !r.Close && (r.ContentLength >= 0 || len(r.TransferEncoding) > 0)}
			if strings.EqualFold(r.Header.Get("Connection"), "keep-alive") && r.ProtoMinor == 0 {
				want.keep = got.keep
			}
			if got != want {
				t.Fatalf("response %d: %+v; net/http: %+v", i, got, want)
			}
		}
	})
}

// final reads the next response that is not interim, and its body, with net/http.
func final(t *testing.T, in *bufio.Reader, got answer) (*http.Response, string) {
	for {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%+v; net/http: %v", got, err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatalf("%+v; net/http: %v", got, err)
		}
		if r.StatusCode >= 200 {
			return r, string(body)
		}
	}
}
