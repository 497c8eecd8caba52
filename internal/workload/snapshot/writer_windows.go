package snapshot

import "os"

// writer returns 0. On Windows a locked file cannot be read, so copying it fails anyway.
func writer(string) int { return 0 }

// allocated returns -1: on Windows it does not know how many bytes of a file are on the disk.
func allocated(os.FileInfo) int64 { return -1 }
