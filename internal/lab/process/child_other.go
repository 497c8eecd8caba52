//go:build !linux

package process

import "time"

// WaitedFor returns nil, because only Linux reports how long threads wait for a CPU.
func WaitedFor(int) *time.Duration { return nil }

// endMarked does nothing: these systems have no common way to read another process's
// environment.
func endMarked(string, map[int]bool) {}

// existing returns nil, because only [endMarked] needs the list, and endMarked does nothing here.
func existing() map[int]bool { return nil }
