//go:build before_v0_35_0

package ncruces

// SQLite itself, with FTS5 and R*Tree, was a separate package.
import _ "github.com/ncruces/go-sqlite3/embed"
