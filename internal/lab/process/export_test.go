package process

// Marker returns the text of the lock file of dir.
func Marker(dir string) string { return marker(dir, nil) }

// Abandon releases the lock of a directory, as happens when its process is killed.
func Abandon(s *Scratch) { s.lock.Close() }
