package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// Recorder records what one program and its child processes do.
type Recorder struct {
	Options
	closing       sync.Mutex       // guards scratch, socket and running
	scratch       *process.Scratch // directory of the socket
	address       string           // path of the socket
	socket        int              // descriptor of the socket to which the stage connects
	running       bool             // Run was called, and closes the socket when it ends
	stage         int              // connection to the stage, closed when the stage becomes the program; -1 if there is none
	notifications int              // descriptor of the kernel's notifications; the stage sends this descriptor to the recorder; -1 before that
	out           Recording

	files       map[inode]int     // numbers of the files in the recorded directory, by inode
	names       map[int]string    // names of the files, by number; "" if the file was removed
	created     int               // how many files were created
	directories map[inode]string  // names of the recorded directory and of its subdirectories
	processes   map[uint32]int    // descriptors (pidfd) of the recorded processes, by the ID of one of the process's threads
	held        []int             // descriptors to close before the answer to the current call is sent
	buffer      []byte            // copy of the bytes that the current call is to write
	said        map[uint64][]byte // incomplete lines of output, by the inode of the pipe
	matching    int               // number of calls so far that have the class and the kind of file of Fault
	counting    bool              // true after transaction 0 was acknowledged
}

type inode struct{ device, number uint64 }

// notification and the types below it are structures of the kernel (linux/seccomp.h).
type notification struct {
	id           uint64
	thread       uint32
	flags        uint32
	number       int32
	architecture uint32
	pointer      uint64
	arguments    [6]uint64
}

type response struct {
	id    uint64
	value int64
	errno int32 // the error number, negated
	flags uint32
}

type addDescriptor struct {
	id                  uint64
	flags               uint32
	source, target, new uint32
}

// New prepares a recorder.
func New(o Options) (*Recorder, error) {
	r := &Recorder{
		Options: o, stage: -1, notifications: -1, socket: -1,
		files: map[inode]int{}, names: map[int]string{}, directories: map[inode]string{}, processes: map[uint32]int{},
		said: map[uint64][]byte{},
	}
	var err error
	if r.Dir, err = filepath.Abs(o.Dir); err == nil {
		r.Dir, err = filepath.EvalSymlinks(r.Dir)
	}
	if err != nil {
		return nil, err
	}
	if err := r.addDirectory(r.Dir, "."); err != nil {
		return nil, err
	}
	if r.scratch, err = process.NewTemporary(); err != nil {
		return nil, err
	}
	r.address = filepath.Join(r.scratch.Dir, "stage")
	if r.socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err == nil {
		if err = unix.Bind(r.socket, &unix.SockaddrUnix{Name: r.address}); err == nil {
			err = unix.Listen(r.socket, 1)
		}
	}
	if err != nil {
		r.Close()
		if len(r.address) > 107 {
			err = fmt.Errorf("%s is too long for the name of a socket: set TMPDIR to a shorter path", r.address)
		}
		return nil, fmt.Errorf("socket of the recorder: %w", err)
	}
	return r, nil
}

// Through returns the program that starts an executable under the recorder, and the arguments of
// that program.
func (r *Recorder) Through(executable string, args []string) (string, []string) {
	own, err := os.Executable()
	if err != nil {
		own = "/proc/self/exe"
	}
	return own, append([]string{StageArgument, r.address, executable}, args...)
}

// Close ends the recording. If the program is still running, its calls fail. Run returns what was
// recorded before, or an error if the program had not begun.
func (r *Recorder) Close() {
	r.closing.Lock()
	defer r.closing.Unlock()
	if r.socket >= 0 {
		_ = unix.Shutdown(r.socket, unix.SHUT_RDWR) // wakes a waiting Run
	}
	if !r.running {
		unix.Close(r.socket)
		r.socket = -1
	}
	if r.scratch != nil {
		r.scratch.Remove()
		r.scratch = nil
	}
}

// Run waits for the stage, and records until the program and its children have ended.
func (r *Recorder) Run() (*Recording, error) {
	r.closing.Lock()
	r.running = true
	r.closing.Unlock()
	defer func() {
		r.closing.Lock()
		unix.Close(r.socket)
		r.socket = -1
		r.closing.Unlock()
		for _, fd := range []int{r.notifications, r.stage} { // so that the calls of a program that still runs fail now
			unix.Close(fd)
		}
		for _, fd := range r.processes {
			unix.Close(fd)
		}
	}()
	if err := r.accept(); err != nil {
		return nil, err
	}
	// Wake the program on the processor of the recorder (Linux 6.6). If the kernel cannot do this,
	// recording is only slower.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(r.notifications), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		p := []unix.PollFd{{Fd: int32(r.notifications), Events: unix.POLLIN}, {Fd: int32(r.socket)}}
		if _, err := unix.Poll(p, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return nil, err
		}
		if p[1].Revents&unix.POLLHUP != 0 {
			return &r.out, nil // Close was called
		}
		if p[0].Revents&unix.POLLIN == 0 { // no process with the filter is left
			message := make([]byte, 512)
			if n, _, err := unix.Recvfrom(r.stage, message, unix.MSG_DONTWAIT); err == nil && n > 0 {
				return nil, fmt.Errorf("the program did not start: %s", message[:n])
			}
			return &r.out, nil
		}
		var n notification // the kernel requires that all fields are 0
		switch errno := ioctl(r.notifications, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno {
		case 0:
		case unix.ENOENT: // the thread was killed in the meantime
			continue
		default:
			return nil, fmt.Errorf("notification: %w", errno)
		}
		if err := r.answer(&n); err != nil {
			return nil, err
		}
	}
}

// accept waits for the stage and takes over the descriptor of the notifications.
func (r *Recorder) accept() error {
	var err error
	if r.stage, _, err = unix.Accept4(r.socket, unix.SOCK_CLOEXEC); err != nil {
		return fmt.Errorf("the program did not start: %w", err)
	}
	message, control := make([]byte, 512), make([]byte, unix.CmsgSpace(4))
	n, cn, _, _, err := unix.Recvmsg(r.stage, message, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return err
	}
	if cn == 0 {
		return fmt.Errorf("the program cannot be recorded: %s", message[:n])
	}
	messages, err := unix.ParseSocketControlMessage(control[:cn])
	if err != nil {
		return err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	r.notifications = fds[0]
	return nil
}

func ioctl(fd int, request uint, p unsafe.Pointer) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(p))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// answer carries out a call, or lets the program make it, and records what the call did.
func (r *Recorder) answer(n *notification) error {
	a, err := r.call(n)
	for _, fd := range r.held {
		unix.Close(fd) // closed before the answer, because a lock may last as long as its descriptor
	}
	r.held = r.held[:0]
	resp := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	errno, failed := errors.AsType[unix.Errno](err)
	switch {
	case errno == errGone:
		return nil // a killed thread needs no answer
	case failed: // the call fails with this error
		resp.errno, resp.flags = -int32(errno), 0
	case err != nil:
		return err
	case a.done:
		resp.value, resp.flags = a.value, 0
	}
	if errno := ioctl(r.notifications, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&resp)); errno != 0 && errno != unix.ENOENT {
		return fmt.Errorf("answer: %w", errno)
	}
	return nil
}

// answer says what to answer to a system call of the program.
type answer struct {
	done  bool // the recorder has carried out the call; otherwise the program makes it itself
	value int64
}

func answered(value int64) answer { return answer{true, value} }

// untouched lets the program make the call itself.
var untouched = answer{}

// errGone is the error if a thread has ended while its call was waiting.
const errGone = unix.ESRCH

// failure is an error of the recorder itself. It is not a [unix.Errno], so it ends the recording
// and never becomes the answer to a call.
func failure(format string, args ...any) error {
	return errors.New("recording: " + fmt.Sprintf(format, args...))
}

// waiting reports whether the call is still waiting. If so, its thread still exists. In this case,
// everything that was read about the thread before is valid: it did not come from a later thread with
// the same ID.
func (r *Recorder) waiting(n *notification) bool {
	id := n.id
	return ioctl(r.notifications, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == 0
}

// descriptor copies a descriptor of the program. The copy is closed before the call is answered.
func (r *Recorder) descriptor(n *notification, fd uint64) (int, error) {
	for range 2 {
		p, known := r.processes[n.thread]
		if !known {
			pid, err := processOf(n.thread)
			if err != nil {
				return -1, errGone
			}
			if p, err = unix.PidfdOpen(pid, 0); errors.Is(err, unix.ESRCH) {
				return -1, errGone
			} else if err != nil {
				return -1, failure("process %d: %v", pid, err)
			}
			r.processes[n.thread] = p
		}
		got, err := unix.PidfdGetfd(p, int(int32(fd)), 0)
		switch {
		case err == nil:
			r.held = append(r.held, got)
			return got, nil
		case errors.Is(err, unix.EBADF):
			return -1, unix.EBADF
		case !errors.Is(err, unix.ESRCH):
			return -1, failure("descriptor %d of a process: %v (containers may forbid pidfd_getfd)", int32(fd), err)
		}
		unix.Close(p) // p is of an earlier process, which has ended and had a thread with the same ID
		delete(r.processes, n.thread)
	}
	return -1, errGone
}

// processOf returns the ID of the process of a thread.
func processOf(thread uint32) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Atoi(strings.TrimSpace(line))
}

// memory copies memory of the program to p.
func (r *Recorder) memory(n *notification, p []byte, from ...unix.RemoteIovec) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	local := unix.Iovec{Base: &p[0]}
	local.SetLen(len(p))
	c, err := unix.ProcessVMReadv(int(n.thread), []unix.Iovec{local}, from, 0)
	if err != nil && !errors.Is(err, unix.EFAULT) && !errors.Is(err, errGone) {
		return c, failure("memory of a process: %v", err)
	}
	return c, err
}

// text copies a string that ends with a NUL. It reads the memory page by page, because the page after the
// string may not be mapped.
func (r *Recorder) text(n *notification, address uint64) (string, error) {
	var s []byte
	for len(s) < unix.PathMax {
		page := make([]byte, 4096-address%4096)
		c, err := r.memory(n, page, unix.RemoteIovec{Base: uintptr(address), Len: len(page)})
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(page[:c], 0); i >= 0 {
			return string(append(s, page[:i]...)), nil
		}
		s, address = append(s, page[:c]...), address+uint64(c)
	}
	return "", unix.ENAMETOOLONG
}

// path returns the absolute path that a call names. The parameter "name" is the index of the
// argument with the name. The parameter "directory" is the index of the argument with the
// directory's descriptor; a negative index means the working directory. If the path is a symbolic
// link, the link is not followed.
func (r *Recorder) path(n *notification, directory, name int) (string, error) {
	s, err := r.text(n, n.arguments[name])
	if err != nil || s == "" {
		return s, err
	}
	if !filepath.IsAbs(s) {
		base := ""
		if directory < 0 || int32(n.arguments[directory]) == unix.AT_FDCWD {
			if base, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", n.thread)); err != nil {
				return "", errGone
			}
		} else {
			fd, err := r.descriptor(n, n.arguments[directory])
			if err != nil {
				return "", err
			}
			if base, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err != nil {
				return "", failure("directory of a call: %v", err)
			}
		}
		s = filepath.Join(base, s)
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(s)); err == nil {
		s = filepath.Join(dir, filepath.Base(s))
	}
	return s, nil
}

// inside returns a path relative to the recorded directory. It returns false if the path is not in
// that directory.
func (r *Recorder) inside(path string) (string, bool) {
	rel, err := filepath.Rel(r.Dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

func (r *Recorder) addDirectory(path, name string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.directories[inodeOf(&st)] = name
	return nil
}

// opened reports whether an open file was opened in the recorded directory.
func (r *Recorder) opened(fd int) bool {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return true
	}
	_, inside := r.inside(path)
	return inside
}

func inodeOf(st *unix.Stat_t) inode { return inode{st.Dev, st.Ino} }

func (r *Recorder) add(o trace.Op) { r.out.Ops = append(r.out.Ops, o) }

// inject returns the error with which a call must fail, or 0. It also reports whether a write must
// first write half of its bytes.
func (r *Recorder) inject(class Class, name string) (errno unix.Errno, short bool) {
	f := r.Fault
	if f == nil || !r.counting || f.Class != class || trace.FileKind(name) != f.File {
		return 0, false
	}
	r.matching++
	short = f.Short && r.matching == f.At
	rest := f.Short && r.matching == f.At+1 // the next call fails, because it writes the second half of a short write
	if later := f.Lasting && r.matching > f.At; r.matching != f.At && !later && !rest {
		return 0, false
	}
	if r.out.Injected++; r.out.Injected == 1 {
		r.out.InjectedAt = len(r.out.Ops)
	}
	if f.Error == ENOSPC {
		return unix.ENOSPC, short
	}
	return unix.EIO, short
}
