package build

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// cannotBuild returns a [*BuildError]. The parameter "said" is the complete output of the go command, and err
// is its error.
func (b *Builder) cannotBuild(ref Ref, said string, err error) *BuildError {
	if why := b.outside(said, err); why != "" {
		return unbuildable(protocol.CodeBuild, "cannot be built: %s", why)
	}
	e := unbuildable(protocol.CodeBuild, "cannot be built: %s%s", FirstComplaint(said, err), ref.variantHint())
	e.Reason.Detail = said
	return e
}

// The expression "undelivered" matches a line in which the go command reports that it could not download a
// module. In such a line, "lacking" matches the answer of a proxy or server that does not have the module.
// The expression "interrupted" matches errors of the network.
var (
	undelivered = regexp.MustCompile(`(\S+@v[^\s:]+): (?:reading |Get |read )"?([^\s"]+?)"?: (.+)`)
	lacking     = regexp.MustCompile(`^(?:40[0134]|410|451) |^no such file`)
	interrupted = regexp.MustCompile(`dial tcp|unexpected EOF|connection reset|i/o timeout|TLS handshake timeout|git ls-remote|git fetch|unrecognized import path`)
)

// outside explains a failure whose cause is neither the library nor this program, and says what to do. It returns
// "" if it finds no such cause in the go command's output.
func (b *Builder) outside(said string, err error) string {
	const again = "run the same command again when the network and the module proxy (GOPROXY) work; it continues where it stopped"
	if strings.Contains(said, syscall.ENOSPC.Error()) {
		return fmt.Sprintf("the disk of %s, of %s or of %s is full: make room there, then run the same again", b.Cache, b.caches.GOCACHE, b.caches.GOMODCACHE)
	}
	if m := undelivered.FindStringSubmatch(said); m != nil {
		if lacking.MatchString(m[3]) {
			return fmt.Sprintf("the module proxy doesn't deliver %s (%s: %s): name one that does with GOPROXY, or unset GOPROXY", m[1], m[2], m[3])
		}
		return fmt.Sprintf("downloading %s failed (%s): %s", m[1], m[3], again)
	}
	switch {
	case strings.Contains(said, "GOPROXY=off"):
		return fmt.Sprintf("not everything is downloaded yet, and GOPROXY=off forbids it (%s): unset GOPROXY", FirstComplaint(said, err))
	case interrupted.MatchString(said):
		whole := strings.ReplaceAll(said, "\n\t", " ") // git explains an error in the line after it, which begins with a tab
		return fmt.Sprintf("downloading failed (%s): %s", FirstComplaint(whole, err), again)
	}
	return ""
}

// FirstComplaint returns the most useful line of the go command's output: the C compiler's first error,
// or else the first message. If the output has no message, it returns err's text.
func FirstComplaint(output string, err error) string {
	for line := range strings.Lines(output) {
		if strings.Contains(line, " error: ") {
			return strings.TrimSpace(line)
		}
	}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") && !strings.HasPrefix(line, "go: finding") {
			return line
		}
	}
	return err.Error()
}
