//go:build before_v0_35_0

package ncruces

// In old releases of the library, the separate package embed embeds SQLite with FTS5 and R*Tree.
import (
	"context"

	_ "github.com/ncruces/go-sqlite3/embed"
)

// withRoom does nothing, because old releases of the library map no database into memory.
func withRoom(ctx context.Context, _ int64) context.Context { return ctx }
