//go:build !linux

package nodes

import "os/exec"

func begin(cmd *exec.Cmd) error { return cmd.Start() }
