package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Hooks are the user's commands that run before and after each trial. Their time is not measured.
type Hooks struct {
	result.Hooks
	Round int // the round of the trials that run now
}

// InRounds returns a [Noise] that does the same as n, and also stores in h which round begins.
func (h *Hooks) InRounds(n Noise) Noise { return hookedNoise{n, h} }

type hookedNoise struct {
	Noise
	hooks *Hooks
}

func (n hookedNoise) BeforeRound(round int) {
	n.hooks.Round = round
	n.Noise.BeforeRound(round)
}

// run runs a command before or after a trial of a case with the database at path. It does nothing if the
// command is "".
func (h *Hooks) run(ctx context.Context, command string, c *Case, path string, limit time.Duration) error {
	if command == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v, the time limit of a trial", limit))
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command)
	cmd.Env = append(os.Environ(), "SQLITE3PERF_DIR="+filepath.Dir(path), "SQLITE3PERF_DATABASE="+path, "SQLITE3PERF_DRIVER="+c.Driver,
		"SQLITE3PERF_WORKLOAD="+c.Workload, "SQLITE3PERF_ROUND="+strconv.Itoa(h.Round))
	said := &process.Ends{Max: 2 * process.DetailEnd}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said, said, time.Second
	process.Isolate(cmd)
	process.Mark(cmd, process.NewMark())
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if text := strings.Join(strings.Fields(said.String()), " "); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}
