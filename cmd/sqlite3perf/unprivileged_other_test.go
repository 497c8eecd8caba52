//go:build !linux

package main

import "os"

// unprivileged and withoutSeccomp are not supported here. Tests that need them run only on Linux.
func unprivileged() { os.Exit(1) }

func withoutSeccomp() { os.Exit(1) }
