package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func messageChecks() []Check {
	return []Check{
		{Name: "messages/describe", test: describes},
		{Name: "messages/schema", Needs: "transactions=reads", test: followsSchema},
		{Name: "messages/unknown request", test: refuses(`{"type":"dance","protocol":2}`)},
		{Name: "messages/another protocol", test: refuses(`{"type":"trial","protocol":999,"path":"/"}`)},
		{Name: "messages/no JSON", test: refuses(`hello`)},
		{Name: "messages/no object", test: refuses(`[]`)},
		{Name: "messages/unknown fields are ignored", test: ignoresFields},
		{Name: "process/the end of the lab ends a trial", test: labGone},
		{Name: "process/an existing file is left alone", test: leavesFile},
		{Name: "loading/a database that is not there", test: missesFile},
		{Name: "loading/only what fills the database", test: refusesLoading},
	}
}

// heard holds a worker's answers to one request.
type heard struct {
	answers []protocol.Response
	lines   [][]byte
	read    int64 // bytes that the worker and its children read from disks, if the system counts them
}

func (h *heard) last() protocol.Response {
	if h == nil || len(h.answers) == 0 { // the worker did not answer
		return protocol.Response{}
	}
	return h.answers[len(h.answers)-1]
}

// failed returns nil if the last answer is a failure with this code. Otherwise it returns an error whose text
// begins with the parameter "why".
func (h *heard) failed(code, why string) error {
	if a := h.last(); a.Type != protocol.TypeFailed || a.Reason == nil || a.Reason.Code != code {
		return fmt.Errorf("%s: %s, %s: want failed with the code %s", why, a.Type, codeOf(a.Reason), code)
	}
	return nil
}

// ask sends a line to the worker and collects all answers. When hangUp returns true for an answer, ask closes
// the worker's input. If hangUp is nil, ask closes the input after the final answer.
func (s *Subject) ask(ctx context.Context, line []byte, hangUp func(*protocol.Response) bool) (*heard, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialLimit, fmt.Errorf("no end within %v", trialLimit))
	defer cancel()
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	h := &heard{}
	w, err := process.Start(ctx, s.Worker, s.Ref.Args(), s.Dir, process.NewMark(), false, s.Ref.Env()...)
	if err != nil {
		return h, err
	}
	_, _ = w.Input.Write(append(line, '\n')) // if the worker has ended, its exit status says why
	var bad error
	lines := w.Lines()
	for lines.Scan() {
		var a protocol.Response
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil && bad == nil {
			bad = fmt.Errorf("an answer is not understood: %w: %.80q: write one JSON object on each line of standard output, and nothing else", err, lines.Bytes())
		}
		h.lines = append(h.lines, bytes.Clone(lines.Bytes()))
		h.answers = append(h.answers, a)
		if hangUp == nil && final(a.Type) || hangUp != nil && hangUp(&a) {
			w.Input.Close()
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		kill(err)
	}
	err = w.End()
	h.read = process.BytesRead(w.ProcessState)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case process.ExitedWell(err):
		err = nil
	}
	return h, cmp.Or(bad, err)
}

// final reports whether an answer of this type is the last answer that a worker sends to a request.
func final(answer string) bool {
	return answer == protocol.TypeInfo || answer == protocol.TypeDone || answer == protocol.TypeFailed || answer == protocol.TypeResult
}

// request returns, as JSON, the request for a trial of the workload in the parameter "text". It first
// applies each change to the request.
func (s *Subject) request(text string, change ...func(*protocol.Request)) ([]byte, error) {
	c, err := s.caseOf(text, nil)
	if err != nil {
		return nil, err
	}
	req := &protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: Seed, Path: s.database(), Settings: c.Settings, Plan: c.Plan,
	}
	for _, f := range change {
		f(req)
	}
	return json.Marshal(req)
}

// askTrial sends the request for a trial of the workload in the parameter "text". It first applies each
// change to the request. The parameter "hangUp" is as in the method "ask".
func (s *Subject) askTrial(ctx context.Context, text string, hangUp func(*protocol.Response) bool, change ...func(*protocol.Request)) (*heard, error) {
	line, err := s.request(text, change...)
	if err != nil {
		return &heard{}, err
	}
	return s.ask(ctx, line, hangUp)
}

func describes(ctx context.Context, s *Subject) error {
	info, _, err := build.Describe(ctx, s.Worker, s.Ref.Args()...)
	if err != nil {
		return err
	}
	for _, f := range []struct{ key, value, want string }{
		{"name", info.Name, "a name as tables show it"},
		{"about", strings.TrimSuffix(info.About, "."), "a sentence"},
		{"module", info.Module, "the measured library's path"},
		{"kind", string(info.Kind), "cgo, transpiled, wasm, subprocess or other language"},
		{"interface", string(info.Interface), "database/sql or direct"},
	} {
		if f.value == "" {
			return fmt.Errorf("describe: info.%s is missing: want %s", f.key, f.want)
		}
	}
	if !strings.HasSuffix(info.About, ".") {
		return fmt.Errorf("describe: info.about is %q: want a sentence, with its full stop", info.About)
	}
	return nil
}

// responseSchema is the JSON Schema of a worker's answers.
var responseSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(protocol.Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("protocol.schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("protocol.schema.json#/$defs/response")
})

// followsSchema checks that every answer to a describe request and to trial requests conforms to the
// protocol's JSON Schema.
func followsSchema(ctx context.Context, s *Subject) error {
	schema, err := responseSchema()
	if err != nil {
		return err
	}
	lines := [][]byte{[]byte(`{"type":"describe","protocol":2}`)}
	for _, change := range []func(*protocol.Request){
		func(*protocol.Request) {},
		func(r *protocol.Request) { r.Load = 1 },
		func(r *protocol.Request) { r.Loaded = 1 },
	} {
		line, err := s.request(yaml("everything"), change, func(r *protocol.Request) {
			r.Plan.Phases[0].Insert.Verify = []plan.Stored{{Table: "t"}}
			if r.Load+r.Loaded > 0 {
				r.Path += "-loaded"
			}
		})
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		h, err := s.ask(ctx, line, nil)
		if err != nil {
			return err
		}
		if a := h.last(); a.Type == protocol.TypeFailed {
			return fmt.Errorf("%s", codeOf(a.Reason))
		}
		for _, line := range h.lines {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err != nil {
				return err
			}
			var invalid *jsonschema.ValidationError
			switch err := schema.Validate(v); {
			case errors.As(err, &invalid):
				return fmt.Errorf("%s in the answer %.200s: see worker/protocol/protocol.schema.json", deepest(invalid), line)
			case err != nil:
				return err
			}
		}
	}
	return nil
}

// deepest returns the most specific reason why an answer does not conform to the schema.
func deepest(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[len(e.Causes)-1]
	}
	words := strings.Join(strings.Fields(e.Error()), " ")
	if _, why, ok := strings.Cut(words, " at "); ok {
		return "at " + why
	}
	return words
}

// refuses returns a check that the worker answers the request in the parameter "line" with a failure that has
// the code "protocol", and then exits with status 0.
func refuses(line string) func(context.Context, *Subject) error {
	return func(ctx context.Context, s *Subject) error {
		h, err := s.ask(ctx, []byte(line), nil)
		if err != nil {
			return fmt.Errorf("%s: %w: want the answer failed with the code protocol, and exit status 0", line, err)
		}
		return h.failed(protocol.CodeProtocol, line)
	}
}

func codeOf(r *protocol.Reason) string {
	if r == nil {
		return "no reason"
	}
	return fmt.Sprintf("the code %q (%s)", r.Code, r.Message)
}

// ignoresFields checks that the worker ignores unknown fields in a request.
func ignoresFields(ctx context.Context, s *Subject) error {
	line, err := s.request(simplest)
	if err != nil {
		return err
	}
	line = append([]byte(`{"a field of tomorrow":{"x":[1]},`), line[1:]...)
	h, err := s.ask(ctx, line, nil)
	switch a := h.last(); {
	case err != nil:
		return err
	case a.Type != protocol.TypeDone:
		return fmt.Errorf("a request with a field that is not in the protocol: %s, %s: ignore fields that are not known", a.Type, codeOf(a.Reason))
	}
	return nil
}

// gone is how long a worker may take to exit after its standard input was closed.
const gone = 10 * time.Second

// labGone closes the worker's input during a phase, as happens when sqlite3perf ends. It checks that the
// worker then removes its files and exits.
func labGone(ctx context.Context, s *Subject) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("the worker does not end within %v after its standard input was closed in the phase endless: watch for the end of standard input in a thread", gone)
	begun := false
	h, err := s.askTrial(ctx, yaml("endless"), func(a *protocol.Response) bool {
		if a.Type == protocol.TypePhase && !begun {
			begun = true
			time.AfterFunc(gone, func() { cancel(late) })
		}
		return begun
	})
	switch {
	case errors.Is(err, late):
		return late
	case !begun:
		return fmt.Errorf("no answer phase, but %q: %s", h.last().Type, codeOf(h.last().Reason))
	case err == nil:
		return errors.New("the worker ended with status 0 though the lab had gone: want another status")
	}
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if _, err := os.Stat(s.database() + suffix); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the lab has gone, and test.db%s is left behind: remove the database with its -wal, -shm and -journal", suffix)
		}
	}
	return nil
}

// leavesFile checks that the worker refuses a trial whose database file already exists, and
// does not change the file.
func leavesFile(ctx context.Context, s *Subject) error {
	const content = "not a database"
	path := s.database()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return err
	}
	h, err := s.askTrial(ctx, simplest, nil)
	if got, rerr := os.ReadFile(path); rerr != nil || string(got) != content {
		return fmt.Errorf("the path of a trial named a file that was there already, and the worker changed it (%v): answer failed with the code path", rerr)
	}
	return cmp.Or(err, h.failed(protocol.CodePath, "the path of a trial names a file that is there already"))
}

// missesFile asks the worker for a trial that begins with a loaded database, but there is no such database.
// The worker must refuse the trial.
func missesFile(ctx context.Context, s *Subject) error {
	h, err := s.askTrial(ctx, filled, nil, func(r *protocol.Request) { r.Loaded = 1 })
	return cmp.Or(err, h.failed(protocol.CodePath, "a request says that the database is loaded, and there is none"))
}

// refusesLoading sends a request whose field "load" covers a timed phase. It checks that the worker refuses the
// request before it opens a database.
func refusesLoading(ctx context.Context, s *Subject) error {
	h, err := s.askTrial(ctx, filled, nil, func(r *protocol.Request) { r.Load = 2 })
	if err == nil && len(h.answers) > 1 {
		err = fmt.Errorf("load is 2, and phase 2 of the plan is a timed query: want failed with the code plan, and nothing before it, not %d answers", len(h.answers))
	}
	return cmp.Or(err, h.failed(protocol.CodePlan, "load is 2, and phase 2 of the plan is a timed query"))
}
