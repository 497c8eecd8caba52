package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// clockTick is what /proc counts CPU time in: USER_HZ, 100 a second on every
// Linux platform that Go runs on.
const clockTick = 1e9 / 100

// livingChildren lists the processes below this one. A driver that reaches
// SQLite through a child of its own is charged for it.
func livingChildren() []int {
	var list []int
	var add func(pid int)
	add = func(pid int) {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range tasks {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
			for _, f := range bytes.Fields(data) {
				if child, err := strconv.Atoi(string(f)); err == nil {
					list = append(list, child)
					add(child)
				}
			}
		}
	}
	add(os.Getpid())
	return list
}

func livingChildrenCPU() (user, system int64) {
	if !hasChildren {
		return 0, 0
	}
	for _, pid := range livingChildren() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The command's name, in parentheses, may hold spaces.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 13 {
			continue
		}
		u, _ := strconv.ParseInt(string(fields[11]), 10, 64)
		s, _ := strconv.ParseInt(string(fields[12]), 10, 64)
		user += u * clockTick
		system += s * clockTick
	}
	return user, system
}

func livingChildrenRSS() int64 {
	if !hasChildren {
		return 0
	}
	var sum int64
	for _, pid := range livingChildren() {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, ok := bytes.Cut(data, []byte("VmHWM:"))
		if fields := bytes.Fields(rest); ok && len(fields) > 0 {
			kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			sum += kib << 10
		}
	}
	return sum
}
