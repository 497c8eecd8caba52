package record

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// programs are the programs that the tests record. The working directory of each is the recorded
// directory.
var programs = map[string]func(){
	"calls": everyCall, "directories": directoryCalls, "threads": threads, "child": child, "race": race, "reuse": reuse,
	"signals": signals, "refused": refusedCalls, "acknowledge": acknowledge, "shared memory": sharedMemory, "faults": faulty, "endless": endless, "patient": patient,
	"mmap":         func() { mapFile("a.db", unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED) },
	"private mmap": privateMaps,
	"O_TMPFILE":    func() { open(".", unix.O_RDWR|unix.O_TMPFILE) },
	"link":         func() { create("a.db"); legacy(unix.SYS_LINK, "a.db", "b.db") },
	"linkat":       func() { create("a.db"); must(unix.Linkat(unix.AT_FDCWD, "a.db", unix.AT_FDCWD, "b.db", 0)) },
	"link in":      func() { must(os.WriteFile(elsewhere("x"), nil, 0o600)); must(unix.Link(elsewhere("x"), "b.db")) },
	"symlink":      func() { legacy(unix.SYS_SYMLINK, "a.db", "b.db") },
	"symlinkat":    func() { must(unix.Symlink("a.db", "b.db")) },
	"mknod":        func() { must(unix.Mkfifo("pipe", 0o600)) },
	"creat":        func() { legacy(unix.SYS_CREAT, "a.db") },
	"punch hole": func() {
		must(unix.Fallocate(create("a.db"), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096))
	},
	"rename out":       func() { create("a.db"); must(unix.Rename("a.db", elsewhere("a.db"))) },
	"rename in":        func() { must(os.WriteFile(elsewhere("x"), nil, 0o600)); must(unix.Rename(elsewhere("x"), "x")) },
	"rename directory": func() { must(os.Mkdir("a", 0o700)); must(os.Rename("a", "b")) },
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// mustFail ends the program unless a call failed with the wanted error.
func mustFail(err error, want unix.Errno) {
	if err != want { //nolint:errorlint // calls return the error as it is
		must(fmt.Errorf("the error is %v, want %v", err, want))
	}
}

func open(path string, flags int) int {
	fd, err := unix.Open(path, flags, 0o600)
	must(err)
	return fd
}

func create(path string) int { return open(path, unix.O_RDWR|unix.O_CREAT) }

// elsewhere returns a path in the directory that is not recorded.
func elsewhere(name string) string { return filepath.Join(os.Getenv(elsewhereVariable), name) }

// legacy makes a system call that only C libraries still make.
func legacy(number uintptr, path string, path2 ...string) {
	p, err := unix.BytePtrFromString(path)
	must(err)
	second := uintptr(0o700)
	if len(path2) > 0 {
		q, err := unix.BytePtrFromString(path2[0])
		must(err)
		second = uintptr(unsafe.Pointer(q))
	}
	if _, _, errno := unix.Syscall(number, uintptr(unsafe.Pointer(p)), second, 0); errno != 0 {
		must(errno)
	}
}

func pwrite(fd int, text string, offset int64) {
	n, err := unix.Pwrite(fd, []byte(text), offset)
	must(err)
	if n != len(text) {
		must(fmt.Errorf("%d bytes were written", n))
	}
}

func write(fd int, text string) {
	_, err := unix.Write(fd, []byte(text))
	must(err)
}

// everyCall makes each kind of call on files that the recorder knows.
func everyCall() {
	a := create("a.db")
	open("a.db", unix.O_RDWR|unix.O_CREAT) // creates nothing, because the file exists
	_, err := unix.Open("a.db", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	mustFail(err, unix.EEXIST)
	write(a, "hello")
	pwrite(a, "world", 10)
	_, err = unix.Writev(a, [][]byte{[]byte("ab"), {}, []byte("cd")})
	must(err)
	_, err = unix.Pwritev(a, [][]byte{[]byte("x"), []byte("yz")}, 20)
	must(err)
	_, err = unix.Pwritev2(a, [][]byte{[]byte("here")}, -1, unix.RWF_DSYNC)
	must(err)
	_, err = unix.Pwritev2(a, [][]byte{[]byte("end")}, 0, unix.RWF_APPEND)
	mustFail(err, unix.EOPNOTSUPP)
	_, err = unix.Pwrite(a, nil, 1000) // changes nothing
	must(err)
	write(open("a.db", unix.O_WRONLY|unix.O_APPEND), "more")
	pwrite(open("a.db", unix.O_WRONLY|unix.O_APPEND), "most", 0) // appends, although the offset is 0
	pwrite(open("a.db", unix.O_WRONLY|unix.O_DSYNC), "D", 1)
	copied, err := unix.Dup(a)
	must(err)
	write(copied, "dup")
	_, err = unix.Pwrite(open("a.db", unix.O_RDONLY), []byte("no"), 0)
	mustFail(err, unix.EBADF)
	must(unix.Ftruncate(a, 25))
	must(unix.Truncate("a.db", 12))
	must(unix.Fallocate(a, 0, 0, 30))
	must(unix.Fallocate(a, 0, 0, 3)) // changes nothing, because the file is long enough
	must(unix.Fallocate(a, unix.FALLOC_FL_KEEP_SIZE, 0, 100))
	must(unix.Fallocate(a, unix.FALLOC_FL_KEEP_SIZE, 0, 30))
	must(unix.Fsync(a))
	must(unix.Fdatasync(a))
	must(unix.Fsync(open(".", unix.O_RDONLY|unix.O_DIRECTORY)))
	open("a.db", unix.O_WRONLY|unix.O_TRUNC)
	open("a.db", unix.O_WRONLY|unix.O_TRUNC) // changes nothing, because the file is empty
	must(os.WriteFile(elsewhere("file"), []byte("not recorded"), 0o600))
	must(os.Rename(elsewhere("file"), elsewhere("renamed")))
	unix.Sync()
}

// directoryCalls makes each kind of call on names that the recorder knows.
func directoryCalls() {
	wd, err := os.Getwd()
	must(err)
	here := open(".", unix.O_RDONLY|unix.O_DIRECTORY)
	a := create("a.db")
	pwrite(a, "first", 0)
	mustFail(unix.Unlink("none"), unix.ENOENT)
	legacy(unix.SYS_UNLINK, "a.db")
	pwrite(a, "removed", 0) // writes to the file, which has no name any more
	b := open(filepath.Join(wd, "a.db"), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	pwrite(b, "second", 0)
	legacy(unix.SYS_RENAME, "a.db", "./b.db")
	create("c.db")
	mustFail(unix.Renameat2(here, "b.db", here, "c.db", unix.RENAME_NOREPLACE), unix.EEXIST)
	must(unix.Renameat2(here, "b.db", here, "d.db", unix.RENAME_NOREPLACE))
	must(unix.Renameat(here, "d.db", here, "c.db"))
	pwrite(b, "third", 0) // writes to the file, which has a new name now
	legacy(unix.SYS_MKDIR, "sub")
	sub := open("sub", unix.O_RDONLY|unix.O_DIRECTORY)
	w, err := unix.Openat(sub, "w.db-wal", unix.O_RDWR|unix.O_CREAT, 0o600)
	must(err)
	pwrite(w, "frame", 0)
	must(unix.Fsync(sub))
	must(unix.Renameat(sub, "w.db-wal", here, "w.db-wal"))
	must(unix.Chdir("sub"))
	must(unix.Unlink("../w.db-wal"))
	must(unix.Unlinkat(here, "c.db", 0))
	must(unix.Chdir(".."))
	must(unix.Mkdirat(here, "other", 0o700))
	legacy(unix.SYS_RMDIR, "sub")
	must(unix.Unlinkat(here, "other", unix.AT_REMOVEDIR))
	must(unix.Fsync(sub)) // sub is no longer a directory of the recording
	must(unix.Fsync(here))
}

const writers, records = 4, 200

// threads writes to files from several threads and from a child process.
func threads() {
	log := open("log", unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	data := create("data.db")
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			runtime.LockOSThread()
			for k := range records {
				write(log, fmt.Sprintf("%d:%03d\n", i, k))
				pwrite(data, fmt.Sprintf("%d:%03d\n", i, k), int64((i*records+k)*6))
			}
		})
	}
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), programVariable+"=child")
	c.ExtraFiles = []*os.File{os.NewFile(uintptr(log), "log")}
	c.Stderr = os.Stderr
	must(c.Run())
	group.Wait()
}

// child writes to its own file and to an inherited descriptor.
func child() {
	own := create("child.db")
	for k := range records {
		write(3, fmt.Sprintf("c:%03d\n", k))
		write(own, fmt.Sprintf("c:%03d\n", k))
	}
}

// signals writes from a thread that gets many signals.
func signals() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGUSR1)
	runtime.LockOSThread()
	thread, ended, over := unix.Gettid(), make(chan bool), make(chan bool)
	go func() {
		defer close(over)
		for {
			select {
			case <-ended:
				return
			default:
				must(unix.Tgkill(os.Getpid(), thread, unix.SIGUSR1))
			}
		}
	}()
	log := open("log", unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	long := strings.Repeat("x", 64<<10)
	for range records {
		write(log, long)
	}
	close(ended)
	<-over
}

// refusedCalls makes calls that could change files without being recorded.
func refusedCalls() {
	a, b := create("a.db"), create("b.db")
	_, err := unix.CopyFileRange(a, nil, b, nil, 1, 0)
	mustFail(err, unix.ENOSYS)
	_, err = unix.Sendfile(b, a, nil, 1)
	mustFail(err, unix.ENOSYS)
	_, err = unix.Splice(a, nil, b, nil, 1, 0)
	mustFail(err, unix.ENOSYS)
	_, err = unix.Openat2(unix.AT_FDCWD, "c.db", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR})
	mustFail(err, unix.ENOSYS)
	for _, number := range []uintptr{unix.SYS_IO_SETUP, unix.SYS_IO_URING_SETUP} {
		_, _, errno := unix.Syscall(number, 1, 0, 0)
		mustFail(errno, unix.ENOSYS)
	}
}

// race opens files. Another thread removes each file at the same time.
func race() {
	names := make(chan string)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for name := range names {
				must(unix.Unlink(name))
			}
		})
	}
	for i := range 4 * records {
		name := fmt.Sprint(i)
		must(unix.Close(create(name)))
		names <- name
		fd := create(name)
		pwrite(fd, "x", 0)
		must(unix.Close(fd))
	}
	close(names)
	group.Wait()
}

// reuse removes a file, and then writes to new files elsewhere until one of them has the same
// inode.
func reuse() {
	var before, st unix.Stat_t
	fd := create("a.db")
	must(unix.Fstat(fd, &before))
	must(unix.Close(fd))
	must(unix.Unlink("a.db"))
	for i := range 100 {
		fd := create(elsewhere(fmt.Sprint(i)))
		must(unix.Fstat(fd, &st))
		if st.Ino == before.Ino {
			fmt.Println("reused")
		}
		pwrite(fd, "not recorded", 0)
		must(unix.Ftruncate(fd, 100))
	}
}

// acknowledge acknowledges transactions between its writes.
func acknowledge() {
	a := create("a.db")
	say := func(s string) { write(1, s) }
	say("starting\nack 0\n")
	pwrite(a, "1", 0)
	say("a")
	pwrite(a, "2", 0)
	say("ck 1\nnot an ack 7\na")
	pwrite(a, "3", 0)
	write(2, "ack 8\n")
	say("ck 2\nack 3\n")
	pwrite(a, "4", 0)
	say("ack 4") // without an end of line
}

// mapFile maps a file of two pages into memory.
func mapFile(name string, protection, flags int) []byte {
	fd := create(name)
	must(unix.Ftruncate(fd, 8192))
	m, err := unix.Mmap(fd, 0, 8192, protection, flags)
	must(err)
	return m
}

// privateMaps maps files in ways that do not change them.
func privateMaps() {
	mapFile("a.db", unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)[0] = 1
	mapFile("b.db", unix.PROT_READ, unix.MAP_SHARED)
}

// sharedMemory writes to the shared memory of WAL mode.
func sharedMemory() {
	m := mapFile("a.db-shm", unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	copy(m, "index")
	fmt.Println("ack 0")
	copy(m, "later")
	fmt.Println("ack 1")
}

// faulty makes calls of each class, and says which of them failed.
func faulty() {
	try := func() {
		db, journal := create("a.db"), create("a.db-journal")
		for i := range 4 {
			said := func(what string, n int, err error) { fmt.Println(what, i+1, n, err) }
			n, err := unix.Pwrite(db, []byte("12345678"), int64(8*i))
			said("write database", n, err)
			n, err = unix.Pwrite(journal, []byte("12345678"), int64(8*i))
			said("write journal", n, err)
			said("sync database", 0, unix.Fsync(db))
			said("sync journal", 0, unix.Fdatasync(journal))
			said("truncate database", 0, unix.Ftruncate(db, 64))
			said("remove journal", 0, unix.Unlink("a.db-journal"))
			journal = create("a.db-journal")
		}
	}
	try()
	fmt.Println("ack 0")
	try()
}

// endless starts a child process. Both processes write until they are killed.
func endless() {
	if os.Getenv("RECORD_TEST_CHILD") == "" {
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "RECORD_TEST_CHILD=1")
		must(c.Start())
		fmt.Println(c.Process.Pid)
	}
	for i := range 2 {
		go func() {
			fd := create(fmt.Sprintf("%d-%d.db", os.Getpid(), i))
			for {
				write(fd, "again")
			}
		}()
	}
	fd := create("counter.db")
	for n := int64(0); ; n++ {
		pwrite(fd, "x", n)
		if n == 100 {
			fmt.Println("ack 0")
		}
	}
}

// patient writes before and after it reads a line from its standard input. It prints the result of
// the second write.
func patient() {
	fd := create("a.db")
	pwrite(fd, "before", 0)
	fmt.Println("ready")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || line != "go on\n" {
		must(fmt.Errorf("%q: %v", line, err))
	}
	_, err = unix.Pwrite(fd, []byte("after"), 0)
	if err == unix.ENOSYS { //nolint:errorlint // the call returns the error as it is
		os.Exit(7)
	}
}
