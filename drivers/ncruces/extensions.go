//go:build !before_v0_35_0

package ncruces

import (
	"context"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"
)

// Other libraries compile FTS5 and R*Tree into SQLite. In this library they are packages that the
// user registers. The library's other packages are not registered here: they are not SQLite's own
// or, like unicode, change the meaning of SQL.
func init() {
	sqlite3.AutoExtension(fts5.Register)
	sqlite3.AutoExtension(rtree.Register)
}

// withRoom gives each connection that is opened with ctx the library's default of 256 MiB of memory, and
// more for the mapped part of the database file.
func withRoom(ctx context.Context, mapped int64) context.Context {
	return sqlite3.WithMaxMemory(ctx, 256<<20+mapped)
}
