package machine

import (
	"os"
	"os/exec"
	"strings"
)

// Boot returns an identifier that changes when the machine is restarted. All processes on the machine get the
// same identifier, also in containers. Boot returns "" if no identifier is available.
func Boot() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	name, err := os.Hostname()
	since, failed := exec.Command("sysctl", "kern.boottime").Output() // macOS and the BSDs have this value
	if words := strings.Fields(string(since)); err == nil && failed == nil && len(words) > 0 {
		return name + " " + strings.Join(words, " ")
	}
	return ""
}
