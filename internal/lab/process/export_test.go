package process

// Marker returns the text of the file that marks a directory.
func Marker(dir string) string { return marker(dir, nil) }

// Abandon gives up a directory as a killed process does.
func Abandon(s *Scratch) { s.lock.Close() }
