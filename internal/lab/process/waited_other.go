//go:build !linux

package process

import "time"

// WaitedFor returns nil, because only Linux reports how long threads wait for a CPU.
func WaitedFor(int) *time.Duration { return nil }
