package disk

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
)

// Moved returns the image as if the program had worked in the directory "to" instead of the
// directory "from". SQLite writes absolute names of files if a transaction changes several
// databases: each journal ends with the name of a super-journal, which has the names of the
// journals. A journal whose super-journal does not exist is not rolled back, so a copy needs new
// names.
func (i Image) Moved(from, to string) Image {
	if from == "" {
		return i
	}
	from, to = from+"/", to+"/"
	out := Image{}
	for name, data := range i {
		switch base := filepath.Base(name); {
		case strings.Contains(base, "-mj"):
			data = bytes.ReplaceAll(data, []byte(from), []byte(to))
		case strings.HasSuffix(base, "-journal"):
			data = renamedSuper(data, from, to)
		}
		out[name] = data
	}
	return out
}

// journalMagic is at the end of a journal that contains the name of a super-journal.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// renamedSuper replaces the name of the super-journal at the end of a journal. The name is followed by its
// length and by the sum of its bytes, in 4 bytes each, and by 8 bytes of magic.
// See https://www.sqlite.org/fileformat2.html#the_rollback_journal and writeSuperJournal in pager.c.
func renamedSuper(journal []byte, from, to string) []byte {
	const after = 4 + 4 + len(journalMagic)
	end := len(journal) - after
	if end < 0 || string(journal[end+8:]) != journalMagic {
		return journal
	}
	begin := end - int(binary.BigEndian.Uint32(journal[end:]))
	if begin < 0 || begin > end {
		return journal
	}
	name := string(journal[begin:end])
	if binary.BigEndian.Uint32(journal[end+4:]) != sumOf(name) || !strings.HasPrefix(name, from) {
		return journal
	}
	name = to + strings.TrimPrefix(name, from)
	out := append(bytes.Clone(journal[:begin]), name...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(name)))
	out = binary.BigEndian.AppendUint32(out, sumOf(name))
	return append(out, journalMagic...)
}

// sumOf adds up the bytes of a name. The bytes are signed numbers, like char in C on amd64.
func sumOf(name string) (sum uint32) {
	for i := range len(name) {
		sum += uint32(int8(name[i]))
	}
	return sum
}
