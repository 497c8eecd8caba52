package host

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// Machine is another machine with a running agent (a sqlite3perf that runs the trials there).
// Only Close may be called while another method runs.
type Machine struct {
	name    string
	options *Options
	process *sshCommand
	hello   hello

	write   sync.Mutex
	asked   int
	replies chan reply
	over    chan struct{} // closed when the agent has ended
	ended   error         // why the agent ended; set before the channel "over" is closed
	close   sync.Once

	mu      sync.Mutex
	refused error // why this process killed the agent; nil: it did not kill the agent
	unheard int   // pings sent since the agent's last line

	good map[int]bool // IDs of cases that have had a trial with status OK

	lost error // error that ended the connection; all further trials on the machine fail with it
}

// pings is how many pings in a row the agent may leave unanswered.
const pings = 10

// Limits on the output of another machine. A line has the same limit as a worker's answer.
const (
	maxBanner = 64 << 10 // limit in bytes for text before the agent's first line
	maxLine   = 16 << 20
	maxEvents = 10_000 // limit for the number of events during one request
	maxError  = 2_000  // limit in bytes for an error message
)

// patience has the timeouts for another machine.
type patience struct {
	start time.Duration // timeout for the agent's first answer, and for each part of a file that is copied
	ping  time.Duration // interval between pings to the agent
	end   time.Duration // timeout for the agent to exit
}

// patience returns the timeouts. Tests set shorter timeouts.
func (o *Options) patience() patience {
	if o.hasty != nil {
		return *o.hasty
	}
	return patience{2 * time.Minute, Silence / pings, 20 * time.Second}
}

var errLong = errors.New("a line is too long")

// readLine reads a line. It returns errLong if the line has more bytes than the parameter "most".
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// clip joins a text's lines into one, and cuts the result to maxError bytes.
func clip(s string) string {
	cut := len(s) > maxError
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), maxError)], "?")), " ")
	if cut {
		s += " …"
	}
	return s
}

// Connect connects to a machine and starts an agent there. It first copies an executable to
// the machine if the machine does not have a suitable one. Errors caused by the machine are
// of type [*Error].
func Connect(ctx context.Context, name string, o *Options) (*Machine, error) {
	c := &connecting{name: name, o: o}
	m, err := c.with(ctx, o.Executable, platform())
	if m != nil || err != nil {
		return m, err
	}
	if m, err = c.built(ctx); m != nil || err != nil {
		return m, err
	}
	return c.installed(ctx)
}

// connecting tries several executables until one of them starts as an agent.
type connecting struct {
	name     string
	o        *Options
	platform string // GOOS/GOARCH of the other machine; "": not known yet
	why      string // why the executable tried last could not be used; "": not tried, or not known
}

// built builds an executable for the other machine on this machine, copies it to the other machine and starts
// it there. It returns a nil Machine if the executable cannot be built, or does not start.
func (c *connecting) built(ctx context.Context) (*Machine, error) {
	goos, goarch, known := strings.Cut(c.platform, "/")
	if !known || c.o.Build == nil {
		return nil, nil
	}
	c.o.say("building sqlite3perf for %s", c.platform)
	path, remove, err := c.o.Build(ctx, goos, goarch)
	if err != nil {
		c.why = err.Error()
		return nil, ctx.Err()
	}
	if path == "" {
		return nil, nil
	}
	defer remove()
	return c.with(ctx, path, c.platform)
}

// installed starts the sqlite3perf found in PATH of the other machine. That sqlite3perf must have the version
// of this process.
func (c *connecting) installed(ctx context.Context) (*Machine, error) {
	m, _, err := c.o.launch(ctx, c.name, installedScript)
	if err != nil {
		return nil, err
	}
	version := c.o.Version
	if m != nil && m.hello.Version == version && m.hello.Agent == protocolVersion {
		return m, nil
	}
	what := "it has no sqlite3perf in PATH"
	if m != nil {
		m.Close()
		what = fmt.Sprintf("it has sqlite3perf %s in PATH, and this is %s", m.hello.Version, version)
	}
	also := ""
	if c.why != "" {
		also = " (" + c.why + ")"
	}
	return nil, &Error{c.name, fmt.Sprintf("%s, and none can be made for %s here%s: install this version there, or run from a clone of sqlite3perf", what, c.platform, also)}
}

// The method "with" starts an executable on the other machine. If needed, it first copies the executable
// there. The parameter "meant" is the platform for which the executable was built. The result is nil if the
// machine has another platform, or cannot run the executable.
func (c *connecting) with(ctx context.Context, executable, meant string) (*Machine, error) {
	hash, err := build.SHA256Of(executable)
	if err != nil {
		return nil, err
	}
	for copied := false; ; copied = true {
		m, said, err := c.o.launch(ctx, c.name, startScript(hash))
		if err != nil {
			return nil, err
		}
		if m != nil && m.hello.SHA256 == hash && m.hello.Agent == protocolVersion {
			return m, nil
		}
		if m != nil {
			m.Close()
		}
		if said.platform != "" {
			c.platform = said.platform
		}
		switch {
		case c.platform == "" && !copied && m == nil && !said.printed: // the other machine has a copy of the executable that does not start; it may be damaged, so copy again
			c.platform = meant
		case c.platform == "":
			return nil, &Error{c.name, "its answer is not understood: " + said.text}
		}
		if c.platform != meant || copied {
			if copied {
				c.why = "ours does not run there: " + said.text
			}
			return nil, nil
		}
		c.o.say("copying sqlite3perf to %s", c.name)
		if err := c.o.copy(ctx, c.name, executable, hash); err != nil {
			return nil, err
		}
	}
}

// copy copies an executable to the path from which startScript starts it.
func (o *Options) copy(ctx context.Context, name, executable, hash string) error {
	f, err := os.Open(executable)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := o.start(ctx, name, copyScript(hash, fi.Size()), "-C")
	if err != nil {
		return err
	}
	starting := o.patience().start
	stuck := time.AfterFunc(starting, p.kill)
	_, failed := io.Copy(p.stdin, &moving{f, stuck, starting})
	p.stdin.Close()
	said, _ := io.CopyN(io.Discard, p.stdout, maxBanner)
	if said == maxBanner {
		p.kill()
	}
	err = p.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case said == maxBanner:
		return &Error{name, fmt.Sprintf("it says more than %d kB while sqlite3perf is copied to it: is its shell in order?", maxBanner>>10)}
	case !stuck.Stop():
		return &Error{name, fmt.Sprintf("copying sqlite3perf to its cache directory: it took nothing for %v", starting)}
	}
	if err != nil || failed != nil {
		e := p.fault(err)
		e.Message = "copying sqlite3perf to its cache directory: " + e.Message
		return e
	}
	return nil
}

// moving reads the file being copied. Before each read it resets the timer in the field "stuck", so that the
// timer fires only if the other machine takes no data for a time.
type moving struct {
	io.Reader
	stuck *time.Timer
	after time.Duration
}

func (m *moving) Read(b []byte) (int, error) {
	m.stuck.Reset(m.after)
	return m.Reader.Read(b)
}

// answer is the output of a machine that did not start an agent.
type answer struct {
	platform string // GOOS/GOARCH; "": not known
	text     string
	printed  bool // text comes from standard output, not standard error
}

// launch runs a script that starts an agent on a machine. If no agent starts, launch returns a nil Machine
// and the output of the script.
func (o *Options) launch(ctx context.Context, name, script string) (*Machine, answer, error) {
	// The agent does not end with ctx, because its current trial may have to finish first.
	p, err := o.start(context.WithoutCancel(ctx), name, script)
	if err != nil {
		return nil, answer{}, err
	}
	m := &Machine{name: name, options: o, process: p, replies: make(chan reply), over: make(chan struct{}), good: map[int]bool{}}
	stop := context.AfterFunc(ctx, p.kill)
	starting := o.patience().start
	late := time.AfterFunc(starting, p.kill)
	lines := bufio.NewReader(p.stdout)
	var said answer
	for left := maxBanner; ; {
		line, err := readLine(lines, left)
		if err != nil {
			stop()
			if errors.Is(err, errLong) {
				p.kill()
			}
			failed := p.Wait()
			switch {
			case ctx.Err() != nil:
				return nil, answer{}, ctx.Err()
			case errors.Is(err, errLong):
				return nil, answer{}, &Error{name, fmt.Sprintf("it says more than %d kB before an agent answers: is its shell in order?", maxBanner>>10)}
			case !late.Stop():
				return nil, answer{}, &Error{name, fmt.Sprintf("no agent has answered within %v: %s", starting, connectOnce(p.client, name))}
			}
			if e, ok := errors.AsType[*os.SyscallError](failed); ok {
				return nil, answer{}, e
			}
			if code := p.ProcessState.ExitCode(); code == sshFailed || endedBy(p.ProcessState) != "" {
				return nil, answer{}, p.fault(failed)
			}
			if text := lastLine(p.stderr.String()); said.text == "" {
				said.text = text
			}
			return nil, said, nil
		}
		left -= len(line)
		if rest, ok := strings.CutPrefix(string(line), absent); ok {
			said = answer{platform: platformOf(strings.Fields(rest)), text: "it runs " + clip(rest)}
			continue
		}
		if json.Unmarshal(line, &m.hello) == nil && m.hello.Agent > 0 {
			break
		}
		said.text, said.printed = clip(string(line)), true // for example, output of a shell's startup file
	}
	stop()
	if !late.Stop() {
		p.kill()
	}
	p.there = true
	go m.listen(lines)
	go m.ping()
	return m, said, nil
}

// platformOf translates the two words that uname -sm prints to GOOS/GOARCH. It returns "" if there are not two
// words.
func platformOf(uname []string) string {
	if len(uname) != 2 {
		return ""
	}
	goarch := map[string]string{
		"x86_64": "amd64", "aarch64": "arm64", "armv6l": "arm", "armv7l": "arm", "armv8l": "arm",
		"i386": "386", "i486": "386", "i586": "386", "i686": "386",
	}
	return strings.ToLower(uname[0]) + "/" + cmp.Or(goarch[uname[1]], uname[1])
}

// refuse kills the agent because an answer is wrong or missing. It makes an error from the formatted text. The
// method "call", which waits for the answer, then returns this error.
func (m *Machine) refuse(format string, args ...any) {
	m.mu.Lock()
	if m.refused == nil {
		m.refused = &Error{m.name, fmt.Sprintf(format, args...)}
	}
	m.mu.Unlock()
	m.process.kill()
}

// listen passes the agent's replies to the method "call" until the agent has ended.
func (m *Machine) listen(lines *bufio.Reader) {
	defer close(m.over)
	for {
		var r reply
		line, err := readLine(lines, maxLine)
		switch {
		case errors.Is(err, errLong):
			m.refuse("an answer is longer than %d MiB", maxLine>>20)
		case err == nil:
			if err = json.Unmarshal(line, &r); err != nil {
				m.refuse("an answer is not understood: %s: %.80q", clip(err.Error()), line)
			}
		}
		if err != nil {
			m.process.stdin.Close()
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			timer := time.AfterFunc(m.options.patience().end, func() { m.refuse("the agent there has stopped answering, and does not end") })
			err := m.process.Wait()
			timer.Stop()
			m.mu.Lock()
			if m.ended = m.refused; m.ended == nil {
				m.ended = m.process.fault(err)
			}
			m.mu.Unlock()
			return
		}
		m.mu.Lock()
		m.unheard = 0
		m.mu.Unlock()
		if r.Event == methodPing {
			continue
		}
		select {
		case m.replies <- r:
		case <-time.After(m.options.patience().end): // no call is waiting for this reply
		}
	}
}

// ping regularly sends the agent a ping, and kills the agent if it has stopped answering.
func (m *Machine) ping() {
	interval := m.options.patience().ping
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// The ping is sent in a goroutine, because the write blocks if the agent is stopped and
			// does not read.
			go func() { _ = m.send(request{Method: methodPing}) }() // if the agent has gone, the method "listen" notices
			m.mu.Lock()
			m.unheard++
			silent := m.unheard > pings
			m.mu.Unlock()
			if silent {
				m.refuse("the agent there has not answered for %v: it is stopped, or the network is", interval*pings)
			}
		case <-m.over:
			return
		}
	}
}

func (m *Machine) send(r request) error {
	m.write.Lock()
	defer m.write.Unlock()
	return json.NewEncoder(m.process.stdin).Encode(r)
}

// call sends the agent a request and waits for the reply. It decodes the result into the value to which the
// parameter "into" points. It calls the function "event", which may be nil, for each event.
func (m *Machine) call(ctx context.Context, method string, params, into any, event func(reply)) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	m.asked++
	go func(r request) { _ = m.send(r) }(request{m.asked, method, text}) // if the agent has gone, the method "listen" notices; if the agent does not read, the method "ping" notices
	for events := 0; ; {
		select {
		case r := <-m.replies:
			switch {
			case r.ID != m.asked: // reply to an earlier call that stopped waiting
			case r.Event != "":
				if events++; events > maxEvents {
					m.refuse("it tells of progress without end")
				} else if event != nil {
					event(r)
				}
			case r.Error != "":
				return &Error{m.name, clip(r.Error)}
			default:
				if err := json.Unmarshal(r.Result, into); err != nil {
					return &Error{m.name, fmt.Sprintf("its answer to %s is not understood: %s", method, clip(err.Error()))}
				}
				return nil
			}
		case <-m.over:
			return m.ended
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the agent, and waits until the agent has removed its directories.
func (m *Machine) Close() {
	m.close.Do(func() {
		go func() { // discards replies, because no call waits for them
			for {
				select {
				case <-m.replies:
				case <-m.over:
					return
				}
			}
		}()
		m.process.stdin.Close()
		select {
		case <-m.over:
		case <-time.After(m.options.patience().end):
			m.process.kill()
			<-m.over
		}
	})
}
