//go:build !before_v0_35_0

package ncruces

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"
)

// This library has packages, which its user imports and registers, for what other
// libraries compile into SQLite. Its other extensions are not SQLite's own or, like
// unicode, change what SQL means.
func init() {
	sqlite3.AutoExtension(fts5.Register)
	sqlite3.AutoExtension(rtree.Register)
}
