package protocol

import (
	"bytes"
	"encoding/json"
	"io"
)

// Exchange calls the function "serve" with a request as its input and returns the responses. The
// input stays open until "serve" returns, because a worker gives up when its input ends.
func Exchange(req Request, serve func(io.Reader, io.Writer) error) (answers []Response, err error) {
	line, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	in, lab := io.Pipe()
	defer lab.Close()
	go func() { _, _ = lab.Write(append(line, '\n')) }() // if Write fails, "serve" gets no request and returns an error
	var out bytes.Buffer
	if err := serve(in, &out); err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var a Response
		if err := dec.Decode(&a); err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}
