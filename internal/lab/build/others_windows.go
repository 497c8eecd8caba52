package build

// checkOthers returns nil: directories of users are theirs.
func checkOthers(string) error { return nil }
