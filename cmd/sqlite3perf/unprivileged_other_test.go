//go:build !linux

package main

import "os"

// unprivileged is for Linux, where scripts that need it run.
func unprivileged() { os.Exit(1) }
