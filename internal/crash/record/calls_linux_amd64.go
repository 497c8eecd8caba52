package record

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// mostWritten is the greatest number of bytes that one call writes. If the program wants to write more,
// it makes another call for the remaining bytes, as after any short write.
const mostWritten = 64 << 20

// call carries out one system call of the recorded program, or leaves it to the program.
func (r *Recorder) call(n *notification) (answer, error) {
	switch n.number {
	case unix.SYS_OPEN:
		return r.open(n, -1, 0, 1)
	case unix.SYS_OPENAT:
		return r.open(n, 0, 1, 2)
	case unix.SYS_UNLINK:
		return r.remove(n, -1, 0, 0)
	case unix.SYS_UNLINKAT:
		return r.remove(n, 0, 1, n.arguments[2])
	case unix.SYS_RMDIR:
		return r.remove(n, -1, 0, unix.AT_REMOVEDIR)
	case unix.SYS_RENAME:
		return r.rename(n, -1, 0, -1, 1, 0)
	case unix.SYS_RENAMEAT:
		return r.rename(n, 0, 1, 2, 3, 0)
	case unix.SYS_RENAMEAT2:
		return r.rename(n, 0, 1, 2, 3, n.arguments[4])
	case unix.SYS_MKDIR:
		return r.makeDirectory(n, -1, 0, 1)
	case unix.SYS_MKDIRAT:
		return r.makeDirectory(n, 0, 1, 2)
	case unix.SYS_TRUNCATE:
		return r.truncatePath(n)
	case unix.SYS_CREAT:
		return r.unknownIfInside(n, "creat", -1, 0)
	case unix.SYS_LINK:
		return r.unknownIfInside(n, "link", -1, 1)
	case unix.SYS_LINKAT:
		return r.unknownIfInside(n, "linkat", 2, 3)
	case unix.SYS_SYMLINK:
		return r.unknownIfInside(n, "symlink", -1, 1)
	case unix.SYS_SYMLINKAT:
		return r.unknownIfInside(n, "symlinkat", 1, 2)
	case unix.SYS_MKNOD:
		return r.unknownIfInside(n, "mknod", -1, 0)
	case unix.SYS_MKNODAT:
		return r.unknownIfInside(n, "mknodat", 0, 1)
	case unix.SYS_SYNC, unix.SYS_SYNCFS:
		r.syncAll()
		return answered(0), nil
	}
	return r.onDescriptor(n)
}

// unknownIfInside is for calls that the models of a disk do not include. It ends the recording if
// such a call changes the recorded directory.
func (r *Recorder) unknownIfInside(n *notification, call string, directory, name int) (answer, error) {
	path, err := r.path(n, directory, name)
	if err != nil {
		return untouched, err
	}
	if rel, inside := r.inside(path); inside {
		return untouched, failure("%s of %s: what a power cut leaves of this call is not modeled", call, rel)
	}
	return untouched, nil
}

// syncAll records that everything is on the disk.
func (r *Recorder) syncAll() {
	for number := 1; number <= r.created; number++ {
		if name := r.names[number]; name != "" {
			r.add(trace.Op{Kind: trace.Sync, Call: "sync", File: number, Name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Values(r.directories)) {
		r.add(trace.Op{Kind: trace.SyncDir, Call: "sync", Name: name})
	}
}

// named returns the path that a call names, and the same path relative to the recorded directory.
// The result "own" is true if the recorder must carry out the call.
func (r *Recorder) named(n *notification, directory, name int) (path, rel string, own bool, err error) {
	if path, err = r.path(n, directory, name); err == nil {
		rel, own = r.inside(path)
	}
	return path, rel, own && r.waiting(n), err
}

func (r *Recorder) open(n *notification, directory, name, flag int) (answer, error) {
	path, rel, own, err := r.named(n, directory, name)
	if !own {
		return untouched, err
	}
	flags := int(n.arguments[flag])
	if flags&tmpfile != 0 {
		return untouched, failure("open with O_TMPFILE in %s: what a power cut leaves of this call is not modeled", rel)
	}
	var before unix.Stat_t
	// Even if the file exists, the program must not open it itself. Another thread may remove the
	// file first. The program would then create a new file, and the recorder would not see that.
	existed := unix.Lstat(path, &before) == nil
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, uint32(n.arguments[flag+1]))
	if err != nil {
		return untouched, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return untouched, failure("%s: %v", rel, err)
	}
	if existed {
		if number, known := r.files[inodeOf(&st)]; known && flags&unix.O_TRUNC != 0 && before.Size > 0 {
			r.add(trace.Op{Kind: trace.Truncate, Call: "open", File: number, Name: rel})
		}
	} else {
		r.created++
		number := r.created
		r.files[inodeOf(&st)] = number
		r.names[number] = rel
		r.add(trace.Op{Kind: trace.Create, Call: "open", File: number, Name: rel})
	}
	add := addDescriptor{id: n.id, source: uint32(fd), new: uint32(flags & unix.O_CLOEXEC)}
	got, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(r.notifications), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&add)))
	if errno == unix.ENOENT {
		return untouched, errGone
	} else if errno != 0 {
		return untouched, failure("descriptor of %s: %v", rel, errno)
	}
	return answered(int64(got)), nil
}

func (r *Recorder) remove(n *notification, directory, name int, flags uint64) (answer, error) {
	path, rel, own, err := r.named(n, directory, name)
	if !own {
		return untouched, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return untouched, err
	}
	if flags&unix.AT_REMOVEDIR != 0 {
		if err := unix.Rmdir(path); err != nil {
			return untouched, err
		}
		delete(r.directories, inodeOf(&st))
		return answered(0), nil
	}
	if errno, _ := r.inject(Removes, rel); errno != 0 {
		return untouched, errno
	}
	if err := unix.Unlink(path); err != nil {
		return untouched, err
	}
	if number, known := r.files[inodeOf(&st)]; known {
		r.add(trace.Op{Kind: trace.Remove, Call: "unlink", File: number, Name: rel})
		r.names[number] = ""
	}
	return answered(0), nil
}

func (r *Recorder) rename(n *notification, directory, name, directory2, name2 int, flags uint64) (answer, error) {
	from, err := r.path(n, directory, name)
	if err != nil {
		return untouched, err
	}
	to, err := r.path(n, directory2, name2)
	if err != nil {
		return untouched, err
	}
	rel, inside := r.inside(from)
	rel2, inside2 := r.inside(to)
	var st unix.Stat_t
	switch {
	case !inside && !inside2, !r.waiting(n):
		return untouched, nil
	case inside != inside2 || flags&unix.RENAME_EXCHANGE != 0:
		return untouched, failure("rename of %s to %s: what a power cut leaves of this call is not modeled", rel, rel2)
	}
	if err := unix.Lstat(from, &st); err != nil {
		return untouched, err
	}
	number, known := r.files[inodeOf(&st)]
	if !known {
		return untouched, failure("rename of %s: a directory, or a file that the recording does not know", rel)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, uint(flags)); err != nil {
		return untouched, err
	}
	for other, had := range r.names {
		if had == rel2 && other != number {
			r.names[other] = ""
		}
	}
	r.names[number] = rel2
	r.add(trace.Op{Kind: trace.Rename, Call: "rename", File: number, Name: rel, To: rel2})
	return answered(0), nil
}

func (r *Recorder) makeDirectory(n *notification, directory, name, mode int) (answer, error) {
	path, rel, own, err := r.named(n, directory, name)
	if !own {
		return untouched, err
	}
	if err := unix.Mkdir(path, uint32(n.arguments[mode])); err != nil {
		return untouched, err
	}
	if err := r.addDirectory(path, rel); err != nil {
		return untouched, failure("%v", err)
	}
	return answered(0), nil
}

func (r *Recorder) truncatePath(n *notification) (answer, error) {
	path, _, own, err := r.named(n, -1, 0)
	if !own {
		return untouched, err
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return untouched, err
	}
	r.held = append(r.held, fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return untouched, err
	}
	return r.truncate(fd, r.files[inodeOf(&st)], int64(n.arguments[1]), "truncate")
}

// onDescriptor carries out a call on an open file.
func (r *Recorder) onDescriptor(n *notification) (answer, error) {
	argument := n.arguments[0]
	if n.number == unix.SYS_MMAP {
		argument = n.arguments[4]
	}
	fd, err := r.descriptor(n, argument)
	if err != nil {
		return untouched, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return untouched, failure("descriptor of a call: %v", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		name, known := r.directories[inodeOf(&st)]
		if !known || n.number != unix.SYS_FSYNC && n.number != unix.SYS_FDATASYNC {
			return untouched, nil
		}
		r.add(trace.Op{Kind: trace.SyncDir, Call: callNames[n.number], Name: name})
		return answered(0), nil
	default:
		// A write to a pipe may have to wait for the reader, so the program makes the call itself. But
		// acknowledgments must be recorded in order, so the recorder first reads what is written to
		// standard output.
		if n.number == unix.SYS_WRITE && argument == 1 {
			return untouched, r.hear(n, st.Ino)
		}
		return untouched, nil
	}
	number, known := r.files[inodeOf(&st)]
	if !known || !r.waiting(n) {
		return untouched, nil
	}
	if r.names[number] == "" && !r.opened(fd) {
		delete(r.files, inodeOf(&st)) // the entry is of a removed file; its inode now belongs to a file outside the directory
		return untouched, nil
	}
	switch n.number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		return r.write(n, fd, number)
	case unix.SYS_FTRUNCATE:
		return r.truncate(fd, number, int64(n.arguments[1]), "ftruncate")
	case unix.SYS_FALLOCATE:
		return r.allocate(n, fd, number)
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		// The disk's model decides what a sync makes durable. So the recorder does not wait for the
		// real disk.
		o := trace.Op{Kind: trace.Sync, Call: callNames[n.number], File: number, Name: r.names[number]}
		errno, _ := r.inject(Syncs, o.Name)
		o.Failed = errno != 0
		r.add(o)
		if o.Failed {
			return untouched, errno
		}
		return answered(0), nil
	case unix.SYS_MMAP:
		if trace.FileKind(r.names[number]) == "shm" {
			return untouched, nil
		}
		return untouched, failure("%s is mapped into memory for writing: such writes cannot be recorded", r.names[number])
	}
	return untouched, failure("call %d of %s is not known", n.number, r.names[number])
}

// callNames maps the numbers of system calls to their names in a recording.
var callNames = map[int32]string{
	unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_WRITEV: "writev", unix.SYS_PWRITEV: "pwritev", unix.SYS_PWRITEV2: "pwritev",
	unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync",
}

// write carries out a call of the recorded program that writes to a file of the recorded directory.
func (r *Recorder) write(n *notification, fd, number int) (answer, error) {
	list := n.number != unix.SYS_WRITE && n.number != unix.SYS_PWRITE64
	data, err := r.data(n, list)
	if err != nil {
		return untouched, err
	}
	offset := int64(n.arguments[3])
	current := n.number == unix.SYS_WRITE || n.number == unix.SYS_WRITEV || n.number == unix.SYS_PWRITEV2 && offset == -1
	if n.number == unix.SYS_PWRITEV2 && n.arguments[5]&^(unix.RWF_HIPRI|unix.RWF_SYNC|unix.RWF_DSYNC) != 0 {
		return untouched, unix.EOPNOTSUPP // a kernel that does not know the flag returns this error too
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return untouched, failure("%s: %v", r.names[number], err)
	}
	errno, short := r.inject(Writes, r.names[number])
	if errno != 0 && !short {
		return untouched, errno
	}
	if short {
		data = data[:len(data)/2]
	}
	var st unix.Stat_t
	if flags&unix.O_APPEND != 0 {
		if err := unix.Fstat(fd, &st); err != nil {
			return untouched, failure("%s: %v", r.names[number], err)
		}
	}
	var wrote int
	if current {
		wrote, err = unix.Write(fd, data)
	} else {
		wrote, err = unix.Pwrite(fd, data, offset)
	}
	if err != nil {
		return untouched, err
	}
	if wrote == 0 {
		return answered(0), nil
	}
	switch {
	case flags&unix.O_APPEND != 0:
		offset = st.Size
	case current:
		end, err := unix.Seek(fd, 0, 1)
		if err != nil {
			return untouched, failure("%s: %v", r.names[number], err)
		}
		offset = end - int64(wrote)
	}
	r.add(trace.Op{Kind: trace.Write, Call: callNames[n.number], File: number, Name: r.names[number], Offset: offset, Data: bytes.Clone(data[:wrote])})
	synced := flags&(unix.O_SYNC|unix.O_DSYNC) != 0
	if n.number == unix.SYS_PWRITEV2 {
		synced = synced || n.arguments[5]&(unix.RWF_SYNC|unix.RWF_DSYNC) != 0
	}
	if synced {
		r.add(trace.Op{Kind: trace.Sync, Call: "O_SYNC", File: number, Name: r.names[number]})
	}
	return answered(int64(wrote)), nil
}

// data copies the bytes that a call is to write, from one buffer or from a list of buffers.
func (r *Recorder) data(n *notification, list bool) ([]byte, error) {
	buffers := []unix.RemoteIovec{{Base: uintptr(n.arguments[1]), Len: int(n.arguments[2])}}
	if list {
		if n.arguments[2] > 1024 {
			return nil, unix.EINVAL
		}
		buffers = make([]unix.RemoteIovec, n.arguments[2])
		if len(buffers) > 0 {
			raw := unsafe.Slice((*byte)(unsafe.Pointer(&buffers[0])), len(buffers)*int(unsafe.Sizeof(buffers[0])))
			if _, err := r.memory(n, raw, unix.RemoteIovec{Base: uintptr(n.arguments[1]), Len: len(raw)}); err != nil {
				return nil, err
			}
		}
	}
	total := 0
	for i := range buffers {
		if buffers[i].Len < 0 {
			return nil, unix.EINVAL
		}
		buffers[i].Len = min(buffers[i].Len, mostWritten-total)
		total += buffers[i].Len
	}
	if len(r.buffer) < total+4096 {
		r.buffer = make([]byte, total+64<<10)
	}
	// A file that was opened with O_DIRECT requires an address that is a multiple of the page size.
	start := int(-uintptr(unsafe.Pointer(&r.buffer[0])) & 4095)
	data := r.buffer[start : start+total]
	c, err := r.memory(n, data, buffers...)
	return data[:max(c, 0)], err
}

// truncate sets the size of a file. The parameter "number" is 0 if the recording does not know the
// file.
func (r *Recorder) truncate(fd, number int, size int64, call string) (answer, error) {
	if number == 0 {
		return untouched, failure("%s of a file that the recording does not know", call)
	}
	if errno, _ := r.inject(Truncates, r.names[number]); errno != 0 {
		return untouched, errno
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		return untouched, err
	}
	r.add(trace.Op{Kind: trace.Truncate, Call: call, File: number, Name: r.names[number], Size: size})
	return answered(0), nil
}

func (r *Recorder) allocate(n *notification, fd, number int) (answer, error) {
	mode, end := uint32(n.arguments[1]), int64(n.arguments[2]+n.arguments[3])
	if mode&^unix.FALLOC_FL_KEEP_SIZE != 0 {
		return untouched, failure("fallocate of %s with mode %#x: what a power cut leaves of this call is not modeled", r.names[number], mode)
	}
	if err := unix.Fallocate(fd, mode, int64(n.arguments[2]), int64(n.arguments[3])); err != nil {
		return untouched, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return untouched, failure("%s: %v", r.names[number], err)
	}
	if mode == 0 && st.Size == end {
		r.add(trace.Op{Kind: trace.Truncate, Call: "fallocate", File: number, Name: r.names[number], Size: end})
	}
	return answered(0), nil
}

// hear finds acknowledgments in what the program writes to its standard output.
func (r *Recorder) hear(n *notification, pipe uint64) error {
	data, err := r.data(n, false)
	if err != nil || r.Acknowledged == nil {
		return err
	}
	text := append(r.said[pipe], data...)
	for {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if !ended {
			r.said[pipe] = bytes.Clone(text)
			return nil
		}
		if number, ok := r.Acknowledged(line); ok {
			r.counting = true
			r.keepShared()
			r.add(trace.Op{Kind: trace.Acknowledge, Number: number})
		}
		text = rest
	}
}

// keepShared records what is in the shared-memory files of WAL mode. Programs write to them through
// memory maps, so the recorder sees no calls.
func (r *Recorder) keepShared() {
	for number := 1; number <= r.created; number++ {
		name := r.names[number]
		if trace.FileKind(name) != "shm" {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(r.Dir, name)); err == nil {
			r.add(trace.Op{Kind: trace.Map, File: number, Name: name, Data: data})
		}
	}
}
