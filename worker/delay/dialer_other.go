//go:build !linux

package delay

import "net"

// CanTellDialers says whether [Dialer] can tell on this system.
const CanTellDialers = false

// Dialer returns which of some processes of this user has dialed a connection from an
// address of IPv4 on this machine. Only Linux tells it.
func Dialer(net.Addr, []int) (pid int, ok bool) { return 0, false }
