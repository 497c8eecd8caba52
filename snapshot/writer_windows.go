package snapshot

// writer returns 0: on Windows a file that is locked cannot be read, so the copy fails.
func writer(string) int { return 0 }
