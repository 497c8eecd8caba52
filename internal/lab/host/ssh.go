package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// sshOptions are options for the SSH client. With them, the client never prompts, and notices
// within a minute that the other machine is gone. They also clear the user's port forwardings,
// because their ports may be in use.
var sshOptions = []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4", "-o", "ClearAllForwardings=yes"}

// toolPath adds the directories where Go is often installed to PATH. In shells that are not
// interactive, PATH often lacks these directories.
const toolPath = `PATH="$PATH:/usr/local/go/bin:$HOME/go/bin:$HOME/.local/bin:/usr/lib/go/bin:/opt/homebrew/bin:/snap/bin"; export PATH; `

// place returns a script that sets the shell variable f to the path of the executable with this hash. Like
// all scripts here, it has neither single quotes nor newlines, so every login shell passes it unchanged to
// sh.
func place(hash string) string {
	return fmt.Sprintf(`d="${XDG_CACHE_HOME:-$HOME/.cache}/sqlite3perf/hosts/%.16s"; f="$d/sqlite3perf"; `, hash)
}

// absent is the first word of the line that a script prints if the other machine does not have the executable
// that the script should start.
const absent = "sqlite3perf-absent"

// startScript returns a script that starts the executable with this hash as an agent. If the executable is
// missing, the script prints the constant "absent" and the platform of the machine.
func startScript(hash string) string {
	return toolPath + place(hash) + `if [ -x "$f" ]; then exec "$f" ` + AgentCommand + `; fi; echo ` + absent + ` $(uname -s) $(uname -m)`
}

// installedScript is a script that starts the sqlite3perf found in PATH as an agent. If there is none, it
// prints the constant "absent".
const installedScript = toolPath + `if command -v sqlite3perf >/dev/null; then exec sqlite3perf ` + AgentCommand + `; fi; echo ` + absent

// copyScript returns a script that stores its standard input as the executable with this hash. If the input
// does not have the given size, in bytes, the script fails.
func copyScript(hash string, size int64) string {
	return place(hash) + fmt.Sprintf(`t="$d/new.$$"; umask 077; mkdir -p "$d" && cat > "$t" && [ $(wc -c < "$t") -eq %d ] && chmod 700 "$t" && mv -f "$t" "$f" || { rm -f "$t"; exit 1; }`, size)
}

// sshCommand is a command on another machine, run by the local SSH client.
type sshCommand struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr process.Ends
	host   string
	client []string // the client with the options that the user gave
	there  bool     // whether an agent has answered
}

// start runs a script on another machine. The parameter "more" has additional options for the SSH client.
func (o *Options) start(ctx context.Context, host, script string, more ...string) (*sshCommand, error) {
	client := o.SSH
	if len(client) == 0 {
		client = []string{"ssh"}
	}
	path, err := exec.LookPath(client[0])
	if err != nil {
		return nil, &Error{host, fmt.Sprintf("there is no %s here: install the OpenSSH client (Debian: apt-get install openssh-client)", client[0])}
	}
	args := slices.Concat(client[1:], sshOptions, more, []string{"--", host, "exec sh -c '" + script + "'"})
	p := &sshCommand{Cmd: exec.CommandContext(ctx, path, args...), host: host, client: client, stderr: process.Ends{Max: 4 << 10}}
	process.Isolate(p.Cmd) // Ctrl-C at the terminal reaches only this process
	p.WaitDelay = time.Second
	p.Stderr = &p.stderr
	if p.stdin, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, &Error{host, fmt.Sprintf("%s does not start: %v", path, err)}
	}
	return p, nil
}

// kill ends the SSH client and its child processes.
func (p *sshCommand) kill() { _ = p.Cancel() } // fails if the client has ended

// sshFailed is the exit status with which the SSH client reports its own errors.
const sshFailed = 255

// fault explains why the SSH client ended unexpectedly. The parameter err is the result of Wait.
func (p *sshCommand) fault(err error) *Error {
	said := p.stderr.String()
	last := lastLine(said)
	_, ended := errors.AsType[*exec.ExitError](err)
	ended = ended && p.ProcessState.ExitCode() == sshFailed // the SSH client failed, not the remote command
	switch {
	case ended && !p.there:
		return &Error{p.host, explain(p.host, p.client, said)}
	case ended && last != "":
		return &Error{p.host, "the connection ended: " + last}
	case ended: // if the connection had ended for another reason, the client would have printed a message
		return &Error{p.host, "the agent there was killed"}
	case p.ProcessState != nil && endedBy(p.ProcessState) != "":
		return &Error{p.host, "the connection ended: the SSH client here was " + endedBy(p.ProcessState)}
	case strings.Contains(said, "No space left on device"), strings.Contains(said, "Disk quota exceeded"):
		return &Error{p.host, "its disk is full: make room there: " + last}
	case last != "":
		return &Error{p.host, last}
	case err != nil:
		return &Error{p.host, "the agent there ended: " + err.Error()}
	}
	return &Error{p.host, "the agent there ended"}
}

// endedBy says how a signal ended a local process, in words that follow "was": "killed (SIGKILL)" or
// "ended by a signal: terminated". It returns "" if no signal ended it.
func endedBy(state *os.ProcessState) string {
	switch s := process.Signal(state); s {
	case 0:
		return ""
	case syscall.SIGKILL:
		return "killed (SIGKILL)"
	default:
		return "ended by a signal: " + s.String()
	}
}

// sshAdvice has advice for the errors of the SSH client. An entry applies if a line of the client's output
// contains one of its signs. If several entries apply, the first one is used. In the advice, LINE stands for
// the last line with a sign, CONFIG for the client's configuration, ONCE for the advice to connect once, and
// OLDKEY for how to remove the old key.
var sshAdvice = []struct {
	signs  []string
	advice string
}{
	{[]string{"REMOTE HOST IDENTIFICATION HAS CHANGED"}, "its key is not the one that is known here, so it may be another machine: find out why before you remove the old keyOLDKEY"},
	{[]string{"Can't open user config file"}, "LINE: name a file that exists after -F"},
	{[]string{"Bad configuration option"}, "the client does not accept its configuration: LINE: correct CONFIG"},
	{[]string{"bad configuration options"}, "the client does not accept its configuration: LINE: correct CONFIG"},
	{[]string{"Host key verification failed"}, "its key is not known here: ONCE, and compare the key that it shows"},
	{[]string{"bad permissions"}, "your key is not used, because others may read its file: LINE: make it readable by you alone, with chmod 600"},
	{[]string{"no such identity"}, "there is no such key here: LINE: change IdentityFile in CONFIG"},
	{[]string{"Permission denied"}, "it does not accept your key: LINE: add your public key to ~/.ssh/authorized_keys there, or load the key with ssh-add; it is not asked for passwords"},
	{[]string{"Could not resolve hostname"}, "there is no such machine: LINE: name one as for ssh, or add it to CONFIG"},
	{[]string{"Connection refused"}, "it refuses the connection: LINE: start an SSH server there, or set its Port in CONFIG"},
	{[]string{"timed out", "No route to host", "Network is unreachable"}, "it cannot be reached: LINE: ONCE"},
	{[]string{"Connection closed by", "Connection reset by", "banner exchange"}, "no SSH server answers there, or it does not let you in: LINE: set its HostName and Port in CONFIG, and ONCE"},
	{[]string{""}, "the connection ended: LINE"},
}

// explain returns a message with advice about the error that the SSH client printed. The parameter "said" is
// the output of the client.
func explain(host string, client []string, said string) string {
	config := "~/.ssh/config"
	if len(client) > 1 {
		config = "the configuration of " + strings.Join(client, " ")
	}
	lines := slices.Collect(strings.Lines(strings.TrimSpace(said)))
	for _, a := range sshAdvice {
		for _, line := range slices.Backward(lines) {
			if slices.ContainsFunc(a.signs, func(s string) bool { return strings.Contains(line, s) }) {
				return strings.NewReplacer("LINE", strings.TrimSpace(line), "CONFIG", config, "ONCE", connectOnce(client, host), "OLDKEY", oldKey(host, said)).Replace(a.advice)
			}
		}
	}
	return "the connection ended"
}

// connectOnce returns the advice to connect once with the SSH client. The user then sees the machine's
// answer.
func connectOnce(client []string, host string) string {
	return "connect once with: " + strings.Join(client, " ") + " " + host
}

// oldKey says how to remove the outdated host key. If the SSH client printed the ssh-keygen command for this,
// or the file and line of the key, oldKey uses this output. Otherwise it returns the usual command.
func oldKey(host, said string) string {
	where := " with: ssh-keygen -R " + host
	for l := range strings.Lines(said) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "ssh-keygen ") && strings.Contains(l, " -R ") {
			return " with: " + l
		}
		if _, at, ok := strings.Cut(l, " key in "); ok && strings.HasPrefix(l, "Offending ") {
			where = ", which is line " + at[strings.LastIndexByte(at, ':')+1:] + " of " + at[:max(0, strings.LastIndexByte(at, ':'))]
		}
	}
	return where
}

// lastLine returns the last line of a text, ignoring blank lines at its end.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
