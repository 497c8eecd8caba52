package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// VersionError says that a version of a driver's library is not available.
type VersionError struct {
	Missing bool // true: the version does not exist; false: it could not be looked up
	message string
}

func (e *VersionError) Error() string { return e.message }

// lookupLimit is how long the go command may take to look up a version.
const lookupLimit = 30 * time.Second

// Resolve finds out which version @latest is now, or whether the wanted version exists. It returns a Ref with
// that version in its name. If the version is not available, the error is a [*VersionError]. If the worker
// for the version is already built, Resolve does not look up the version, so it needs no network.
func (b *Builder) Resolve(ctx context.Context, ref Ref) (Ref, error) {
	if ref.Version == "" {
		return ref, nil
	}
	if _, err := b.toolchain(ctx); err != nil {
		if ref.Version == latest {
			return ref, err
		}
		return ref, nil // the error is reported when the worker is built
	}
	if ref.Version != latest {
		if built, err := b.Built(ctx, ref); built || err != nil {
			return ref, ctx.Err()
		}
	}
	k := ref.Known
	out, said, err := b.lookup(ctx, k.Dir, "list", "-m", "-mod=mod", "-json", k.Module+"@"+ref.Version)
	var found struct{ Version string }
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	switch {
	case ctx.Err() != nil:
		return ref, ctx.Err()
	case err != nil && said == "":
		return ref, fmt.Errorf("go list %s@%s: %w", k.Module, ref.Version, err)
	case err != nil:
		return ref, ref.versionError(said)
	}
	if ref.Version == latest {
		ref.Version = found.Version
		ref.Name = ref.variantName("")
	}
	return ref, nil
}

// lookup runs, in dir, a go command that may need a network. The result "said" is the command's
// standard error. If the command took longer than [lookupLimit], "said" is a message about that.
func (b *Builder) lookup(ctx context.Context, dir string, args ...string) (out []byte, said string, err error) {
	limited, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	cmd := b.command(limited, args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err = output(cmd)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Sprintf("no answer within %v", lookupLimit), limited.Err()
	}
	return out, complaint.String(), err
}

// refusal returns the HTTP status with which a proxy or a repository refused a version. It returns "" if
// there was no refusal. The parameter "said" is the go command's output.
func refusal(said string) string {
	for _, status := range []string{"401 Unauthorized", "403 Forbidden", "451 Unavailable For Legal Reasons"} {
		if strings.Contains(said, status) {
			return status
		}
	}
	return ""
}

// versionError returns a [*VersionError] about the version of r. The parameter "said" is the go command's
// output about this version.
func (r Ref) versionError(said string) error {
	words := strings.Join(strings.Fields(said), " ")
	if _, reason, ok := strings.Cut(words, r.Known.Module+"@"+r.Version+": "); ok {
		words = reason
	}
	e := &VersionError{}
	// These messages are answers of the proxy or the repository. Any other error means that the
	// go command could not reach them.
	for _, sign := range []string{"server response: ", "unknown revision", "invalid version", "404 Not Found", "410 Gone", "no matching versions"} {
		e.Missing = e.Missing || strings.Contains(words, sign)
	}
	if _, response, ok := strings.Cut(words, "server response: "); ok {
		words = response
	}
	pinned := r.Known.Name + "@" + r.Known.Version
	status := refusal(said)
	e.Missing = e.Missing || status != ""
	switch {
	case status != "":
		e.message = fmt.Sprintf("driver %s: the version cannot be had from the module proxy (%s): name one that go list -m -versions %s lists, or the pinned one, %s", r.Name, status, r.Known.Module, pinned)
	case e.Missing:
		e.message = fmt.Sprintf("driver %s: %s has no such version (%.200s): pinned is %s, the newest is %s@%s", r.Name, r.Known.Module, words, pinned, r.Known.Name, latest)
	default:
		e.message = fmt.Sprintf("driver %s: the version cannot be looked up (%.200s): without a network name the pinned one, %s, or one that has been built before", r.Name, words, pinned)
	}
	return e
}

// checkedOut returns Git's information about dir, with the keys of Go's build information:
// vcs.revision, and vcs.modified if files differ from that revision. It returns nil if Git
// does not track dir.
func checkedOut(ctx context.Context, dir string) map[string]string {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
		process.Isolate(cmd)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	// dir may be inside a repository that ignores dir. So check whether go.mod is tracked.
	_, tracked := git("ls-files", "--error-unmatch", "go.mod")
	revision, err := git("rev-parse", "HEAD")
	status, serr := git("status", "--porcelain", "--", ".")
	if errors.Join(tracked, err, serr) != nil {
		return nil
	}
	info := map[string]string{"vcs.revision": revision}
	if status != "" {
		info["vcs.modified"] = "true"
	}
	return info
}

// variantHint returns the end of the message about a driver that cannot be built. It names the options or
// the directory that may be the cause.
func (r Ref) variantHint() string {
	var made []string
	for _, key := range r.optionKeys() {
		if o, _ := lookupOption(key); o.built {
			made = append(made, key+"="+r.Options[key])
		}
	}
	switch {
	case made != nil:
		return fmt.Sprintf(" (correct %s, or leave it out)", strings.Join(made, " or "))
	case r.Dir != "":
		return fmt.Sprintf(" (in %s)", r.Dir)
	}
	return ""
}
