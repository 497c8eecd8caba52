package machine

import (
	"os"
	"os/exec"
	"strings"
)

// Boot returns what is the same in all processes of a machine since it was started, and
// nowhere else; "" if it is not known. Containers of one machine have the same.
func Boot() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	name, err := os.Hostname()
	since, failed := exec.Command("sysctl", "kern.boottime").Output() // macOS and the BSDs
	if words := strings.Fields(string(since)); err == nil && failed == nil && len(words) > 0 {
		return name + " " + strings.Join(words, " ")
	}
	return ""
}
