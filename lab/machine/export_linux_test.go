package machine

// Parts that are tested on data.
var (
	Governor = governor
	Virtual  = virtual
)

// FileSystem returns what the text of a mountinfo says about a path.
func FileSystem(mountinfo, path string) (kind, device string, syncFree bool) {
	list := parseMounts(mountinfo)
	if m := list.of(path); m != nil {
		return m.kind, m.device, list.syncFree(m)
	}
	return "", "", false
}
