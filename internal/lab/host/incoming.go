package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// incoming is a worker executable that is being received in parts.
type incoming struct {
	scratch *process.Scratch
	file    *os.File
	sum     string // announced SHA-256 of the complete file
}

// sentPrefix is the prefix of the file names of cached workers that another machine built and sent.
const sentPrefix = "sent-"

// receive stores the next part of a worker. If the part belongs to another worker than the previous part,
// receive discards the unfinished worker.
func (a *Agent) receive(s sending) (sent, error) {
	if sum, err := hex.DecodeString(s.SHA256); err != nil || len(sum) != sha256.Size {
		return sent{}, fmt.Errorf("bad SHA-256 %q", s.SHA256)
	}
	path := filepath.Join(a.builder.Cache, sentPrefix+s.SHA256)
	if a.incoming == nil || a.incoming.sum != s.SHA256 {
		a.incoming.discard()
		a.incoming = nil
		if sum, err := build.SHA256Of(path); err == nil && sum == s.SHA256 {
			return sent{path}, nil
		}
		scratch, err := process.NewScratch(a.builder.Cache, "receiving-")
		if err != nil {
			return sent{}, err
		}
		a.incoming = &incoming{scratch: scratch, sum: s.SHA256}
		if a.incoming.file, err = os.OpenFile(filepath.Join(scratch.Dir, "worker"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700); err != nil {
			return sent{}, err
		}
	}
	in := a.incoming
	if _, err := in.file.Write(s.Data); err != nil {
		return sent{}, err
	}
	if !s.Last {
		return sent{}, nil
	}
	defer func() {
		in.discard()
		a.incoming = nil
	}()
	if err := in.file.Close(); err != nil {
		return sent{}, err
	}
	if sum, err := build.SHA256Of(in.file.Name()); err != nil || sum != s.SHA256 {
		return sent{}, errors.Join(err, errors.New("a worker arrived damaged"))
	}
	// Package build removes unused workers only if they have a .sha256 file, so this worker gets one, too.
	if err := os.WriteFile(path+".sha256", []byte(s.SHA256), 0o644); err != nil {
		return sent{}, err
	}
	return sent{path}, os.Rename(in.file.Name(), path)
}

// discard removes the parts received so far.
func (in *incoming) discard() {
	if in == nil {
		return
	}
	if in.file != nil {
		in.file.Close()
	}
	in.scratch.Remove()
}
