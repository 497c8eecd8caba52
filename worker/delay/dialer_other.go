//go:build !linux

package delay

import "net"

// CanTellDialers says whether [Dialer] works on this system.
const CanTellDialers = false

// Dialer returns false, because it can find the process only on Linux.
func Dialer(net.Addr, []int) (pid int, ok bool) { return 0, false }
