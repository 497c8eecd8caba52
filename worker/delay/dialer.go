package delay

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// CanTellDialers says whether [Dialer] works on this system. Dialer reads files of /proc that only
// Linux has.
const CanTellDialers = runtime.GOOS == "linux"

// Dialer returns the ID of the process that has dialed a connection from a local IPv4 address. It
// looks only at the processes with the given IDs, which must be processes of this user. The result
// "ok" is false if none of these processes has dialed the connection, or if this system is not
// Linux.
func Dialer(from net.Addr, processes []int) (pid int, ok bool) {
	inode, ok := inodeOf(from.String())
	if !ok {
		return 0, false
	}
	want := "socket:[" + inode + "]"
	i := slices.IndexFunc(processes, func(pid int) bool {
		list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		return slices.ContainsFunc(list, func(fd string) bool {
			target, err := os.Readlink(fd)
			return err == nil && target == want
		})
	})
	if i < 0 {
		return 0, false
	}
	return processes[i], true
}

// inodeOf returns the inode of the socket that is bound to a local IPv4 address.
func inodeOf(addr string) (inode string, ok bool) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Unmap().Is4() {
		return "", false
	}
	a := at.Addr().Unmap().As4()
	// The kernel prints the address as a number in the byte order of the machine.
	little := fmt.Sprintf("%02X%02X%02X%02X:%04X", a[3], a[2], a[1], a[0], at.Port())
	big := fmt.Sprintf("%02X%02X%02X%02X:%04X", a[0], a[1], a[2], a[3], at.Port())
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return "", false
	}
	defer f.Close()
	const local, inodes, columns = 1, 9, 10
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		if len(w) >= columns && (w[local] == little || w[local] == big) && w[inodes] != "0" {
			return w[inodes], true
		}
	}
	return "", false
}
