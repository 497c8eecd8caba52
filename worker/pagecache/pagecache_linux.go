//go:build linux && (amd64 || arm64)

package pagecache

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Check returns an error if files in a directory cannot be dropped from the page cache.
func Check(dir string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	if fs.Type == tmpfs || fs.Type == ramfs {
		return errors.New("the file system keeps its files only in memory: use a directory on a disk")
	}
	return nil
}

func drop(f *os.File) (size, cached int64, err error) {
	// Dirty pages cannot be dropped.
	if err := syscall.Fdatasync(int(f.Fd())); err != nil {
		return 0, 0, &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		return 0, 0, &os.PathError{Op: "fadvise", Path: f.Name(), Err: errno}
	}
	return resident(f)
}

// resident returns the size of a file, and how many of its bytes are in the page cache. The last page may
// count with more bytes than the file has.
func resident(f *os.File) (size, cached int64, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, 0, err
	}
	size = info.Size()
	mapped, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return 0, 0, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	page := int64(os.Getpagesize())
	in := make([]byte, (size+page-1)/page)
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(size), uintptr(unsafe.Pointer(&in[0])))
	if errno != 0 {
		err = fmt.Errorf("mincore %s: %w", f.Name(), errno)
	}
	for _, x := range in {
		cached += int64(x&1) * page
	}
	return size, cached, errors.Join(err, syscall.Munmap(mapped))
}
