//go:build !before_v0_35_0

package ncruces

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"
)

// Other libraries compile FTS5 and R*Tree into SQLite. In this one they are packages, which the
// user registers. Its other packages are not SQLite's own or, like unicode, change the meaning
// of SQL.
func init() {
	sqlite3.AutoExtension(fts5.Register)
	sqlite3.AutoExtension(rtree.Register)
}
