//go:build !linux

package nodes

import "os/exec"

// begin starts a command.
func begin(cmd *exec.Cmd) error { return cmd.Start() }
