package snapshot

import "os"

// writer returns 0: on Windows a file that is locked cannot be read, so the copy fails.
func writer(string) int { return 0 }

// allocated returns -1: it is not known how many bytes of a file are on the disk.
func allocated(os.FileInfo) int64 { return -1 }
