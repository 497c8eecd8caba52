//go:build before_v0_35_0

package ncruces

// In old releases of the library, this separate package embeds SQLite with FTS5 and R*Tree.
import _ "github.com/ncruces/go-sqlite3/embed"
