// Package pagecache drops files from the system's page cache, so that the next read waits for the disk.
package pagecache

import "os"

// Drop writes the changes of files to the disk and drops the files from the page cache. It returns the size
// of the files, and how many of these bytes are still in the page cache. These are mostly pages that another
// process has mapped. Drop does not see what the disk or a hypervisor caches.
//
// If the process holds POSIX locks on a file, such as those of SQLite, the file must stay open as long as
// the locks are needed, because closing any descriptor of the file releases them.
func Drop(files ...*os.File) (size, cached int64, err error) {
	for _, f := range files {
		n, kept, err := drop(f)
		if err != nil {
			return 0, 0, err
		}
		size, cached = size+n, cached+min(kept, n)
	}
	return size, cached, nil
}
