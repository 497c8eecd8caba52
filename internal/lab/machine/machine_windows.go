package machine

import (
	"golang.org/x/sys/windows"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// platform adds to m the facts that only Windows reports.
func platform(m *result.Machine, dir string) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return
	}
	var volume, kind [windows.MAX_PATH + 1]uint16
	if err := windows.GetVolumePathName(path, &volume[0], uint32(len(volume))); err != nil {
		return
	}
	m.Device = windows.UTF16ToString(volume[:])
	if err := windows.GetVolumeInformation(&volume[0], nil, 0, nil, nil, nil, &kind[0], uint32(len(kind))); err == nil {
		m.FileSystem = windows.UTF16ToString(kind[:])
	}
}
