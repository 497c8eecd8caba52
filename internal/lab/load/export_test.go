package load

import "io"

// ReadResponses reads the responses from r, as a connection does.
func ReadResponses(r io.Reader, each func(status int, body []byte, keep bool)) error {
	var p response
	p.reset(r)
	for {
		status, body, err := p.next()
		if err != nil {
			return err
		}
		each(status, body, p.keep)
		if !p.keep {
			return nil
		}
	}
}
