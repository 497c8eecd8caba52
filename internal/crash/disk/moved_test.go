package disk

import (
	"encoding/binary"
	"strings"
	"testing"
)

// journalOf returns a journal that ends with the name of a super-journal.
func journalOf(super string) []byte {
	b := append([]byte("pages"), super...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(super)))
	b = binary.BigEndian.AppendUint32(b, sumOf(super))
	return append(b, journalMagic...)
}

// TestMoved checks that Moved changes the names in journals and super-journals, and nothing else.
func TestMoved(t *testing.T) {
	torn := journalOf("/old/12/test.db-mj1")
	torn[7] ^= 1
	for name, c := range map[string]struct{ before, after string }{
		"test.db-journal":     {string(journalOf("/old/12/test.db-mj1")), string(journalOf("/new/é/test.db-mj1"))},
		"attached.db-journal": {string(torn), string(torn)},
		"other.db-journal":    {string(journalOf("/elsewhere/test.db-mj1")), string(journalOf("/elsewhere/test.db-mj1"))},
		"short.db-journal":    {"short", "short"},
		"magic.db-journal":    {strings.Repeat("\xff", 8) + journalMagic, strings.Repeat("\xff", 8) + journalMagic},
		"test.db-mj1":         {"/old/12/test.db-journal\x00/old/12/attached.db-journal\x00", "/new/é/test.db-journal\x00/new/é/attached.db-journal\x00"},
		"test.db":             {"/old/12/test.db-mj1", "/old/12/test.db-mj1"},
	} {
		before := Image{name: []byte(c.before)}
		if got := before.Moved("/old/12", "/new/é"); string(got[name]) != c.after || string(before[name]) != c.before {
			t.Errorf("%s: %q, want %q", name, got[name], c.after)
		}
	}
}
