package connpool

import "strings"

// TrimScript cuts white space, comments and empty statements off the front of
// sql. What is left begins with a statement or is empty, so that a library that
// prepares one statement after the other never meets an empty one.
func TrimScript(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\n\v\f\r;")
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql[2:], "*/")
		default:
			return sql
		}
	}
}
