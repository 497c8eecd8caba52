//go:build !linux

package main

import "os"

// unprivileged is not supported here. Scripts that need it run only on Linux.
func unprivileged() { os.Exit(1) }
