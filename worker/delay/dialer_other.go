//go:build !linux

package delay

import "net"

// CanTellDialers says whether [Dialer] works on this system.
const CanTellDialers = false

// Dialer returns false. Only on Linux can it find the process that has dialed a connection.
func Dialer(net.Addr, []int) (pid int, ok bool) { return 0, false }
