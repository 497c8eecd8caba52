// Package disk computes what a disk can hold after a fault, given what a program did to its files.
// It has three models: each says which operations survive.
package disk

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// Model says what survives a fault.
type Model string

// The models of what survives a fault.
const (
	// Kill: the process is killed, the system goes on. Every finished operation survives.
	Kill Model = "kill"

	// Ordered: the power fails, with a file system such as ext4, xfs or btrfs in their default modes.
	// Operations on names (creating, renaming and removing files) persist in their order. A sync of a file
	// makes the file's creation durable, with all earlier operations on names. Of the pages that were not
	// synced, any subset may persist.
	Ordered Model = "ordered"

	// Posix: the power fails, and only what POSIX promises persists. A file's name persists only if its
	// directory was synced. Of the sectors (512 bytes each) that were not synced, any subset may persist.
	Posix Model = "posix"
)

// Models lists the models.
var Models = []Model{Kill, Ordered, Posix}

// unit returns the size in bytes of the units of data. Without a sync, each unit persists as a
// whole or not at all.
func (m Model) unit() int64 {
	if m == Posix {
		return 512
	}
	return 4096
}

// file is what a disk holds of a file, and the changes that wait to be written.
type file struct {
	live    []byte // content as programs see it
	durable []byte // content that survives in any case
	waiting []part // later changes, in the order in which they were made
}

// part is a change of a file that persists as a whole or not at all. It is either a unit that was
// written, or a change of the file's size. The kernel writes a unit as it is in its cache, so a
// unit that persists also includes all earlier writes to it.
type part struct {
	offset int64  // where the unit begins
	data   []byte // what the unit holds after the write, up to the end of the file
	size   int64  // the new size, if the part is a change of the size; in this case, data is nil
	lost   bool   // the kernel no longer tries to write the part, because a sync failed
}

// name is a change of a file's name. If the file was created, the field "from" is ""; if it was
// removed, "to" is "".
type name struct {
	file     int
	from, to string
}

// Disk simulates a disk while the operations of a trace are applied to it.
type Disk struct {
	model   Model
	files   map[int]*file
	live    map[string]int // numbers of the files by name, as programs see it
	durable map[string]int
	waiting []name
}

// New returns an empty disk.
func New(m Model) *Disk {
	return &Disk{model: m, files: map[int]*file{}, live: map[string]int{}, durable: map[string]int{}}
}

// Apply carries out operation number n of a trace.
func (d *Disk) Apply(n int, o *trace.Op) error {
	if o.Kind == trace.SyncDir {
		d.syncDirectory(o.Name)
		return nil
	}
	if o.Kind == trace.Acknowledge || o.Failed && o.Kind != trace.Sync {
		return nil
	}
	f := d.files[o.File]
	if o.Kind == trace.Create {
		f = &file{}
		d.files[o.File] = f
	}
	if f == nil {
		return fmt.Errorf("operation %d is on file %d, which was never created", n, o.File)
	}
	switch o.Kind {
	case trace.Create:
		d.rename(name{file: o.File, to: o.Name})
	case trace.Remove:
		d.rename(name{file: o.File, from: o.Name})
	case trace.Rename:
		d.rename(name{file: o.File, from: o.Name, to: o.To})
	case trace.Write:
		d.write(f, o)
	case trace.Truncate:
		f.live = resized(f.live, o.Size)
		f.waiting = append(f.waiting, part{size: o.Size})
	case trace.Map:
		f.live = bytes.Clone(o.Data) // a later write must not change the trace
	case trace.Sync:
		d.sync(o)
	default:
		return fmt.Errorf("operation %d is of the unknown kind %d", n, o.Kind)
	}
	return nil
}

// write changes the content that programs see. It adds the change to those that wait to be written to the
// disk.
func (d *Disk) write(f *file, o *trace.Op) {
	if len(o.Data) == 0 {
		return // a write of 0 bytes does not even change the size
	}
	f.live = written(f.live, o.Offset, o.Data)
	unit, end := d.model.unit(), o.Offset+int64(len(o.Data))
	for at := o.Offset / unit * unit; at < end; at += unit {
		data := f.live[at:min(at+unit, int64(len(f.live)))]
		f.waiting = append(f.waiting, part{offset: at, data: bytes.Clone(data)})
	}
}

// rename changes a name that programs see. It adds the change to those that wait to be written to the
// disk.
func (d *Disk) rename(c name) {
	c.apply(d.live)
	if d.model == Posix && c.from != "" && c.to != "" && filepath.Dir(c.from) != filepath.Dir(c.to) {
		// The rename changes two directories, and each of them needs its own sync.
		to, from := c, c
		to.from, from.to = "", ""
		d.waiting = append(d.waiting, to, from)
		return
	}
	d.waiting = append(d.waiting, c)
}

func (c *name) apply(names map[string]int) {
	if c.from != "" && names[c.from] == c.file {
		delete(names, c.from)
	}
	if c.to != "" {
		names[c.to] = c.file
	}
}

// sync makes a file durable, unless the sync failed.
func (d *Disk) sync(o *trace.Op) {
	f := d.files[o.File]
	if o.Failed {
		for i := range f.waiting {
			f.waiting[i].lost = f.waiting[i].data != nil // a change of the size is metadata, which is not lost
		}
		return
	}
	f.durable = f.synced()
	f.waiting = nil
	if d.model == Posix {
		return
	}
	d.settle(func(c *name) bool { return c.file == o.File && c.to != "" })
}

// synced returns the durable content of a file after a sync. All pages with waiting changes are
// written as they are now. A page whose change was lost stays as it is on the disk, also in later
// syncs, until the program writes to the page again.
func (f *file) synced() []byte {
	const page = 4096
	out := bytes.Clone(f.durable)
	for i := range f.waiting {
		if p := &f.waiting[i]; p.data == nil {
			out = resized(out, p.size)
		}
	}
	out = resized(out, int64(len(f.live)))
	for _, p := range f.waiting {
		if p.lost || p.data == nil {
			continue
		}
		lo := p.offset / page * page
		if hi := min(lo+page, int64(len(f.live))); lo < hi {
			copy(out[lo:hi], f.live[lo:hi])
		}
	}
	return out
}

// settle makes waiting changes of names durable. These are the last change for which the function
// "synced" returns true, and all changes before it.
func (d *Disk) settle(synced func(*name) bool) {
	n := 0
	for i := range d.waiting {
		if synced(&d.waiting[i]) {
			n = i + 1
		}
	}
	for i := range d.waiting[:n] {
		d.waiting[i].apply(d.durable)
	}
	d.waiting = slices.Clone(d.waiting[n:])
}

// syncDirectory makes the names in a directory durable.
func (d *Disk) syncDirectory(dir string) {
	in := func(path string) bool { return path != "" && filepath.Dir(path) == dir }
	synced := func(c *name) bool { return in(c.from) || in(c.to) }
	if d.model != Posix {
		d.settle(synced)
		return
	}
	var rest []name
	for _, c := range d.waiting {
		if synced(&c) {
			c.apply(d.durable)
		} else {
			rest = append(rest, c)
		}
	}
	d.waiting = rest
}

// The function "written" returns b after data was written at an offset.
func written(b []byte, offset int64, data []byte) []byte {
	if end := offset + int64(len(data)); end > int64(len(b)) {
		b = resized(b, end)
	}
	copy(b[offset:], data)
	return b
}

func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size] // no spare capacity, so that growing the slice later adds zeros and not the old bytes
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// Image is what a disk holds: files by name.
type Image map[string][]byte

// Read returns the files of the directory dir and of its subdirectories.
func Read(dir string) (Image, error) {
	image := Image{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		image[rel], err = os.ReadFile(path)
		return err
	})
	return image, err
}

// Sum identifies the content of an image.
func (i Image) Sum() [sha256.Size]byte {
	h := sha256.New()
	for _, n := range slices.Sorted(maps.Keys(i)) {
		fmt.Fprintf(h, "%q %d ", n, len(i[n]))
		h.Write(i[n])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Write creates the files in the directory dir.
func (i Image) Write(dir string) error {
	for n, data := range i {
		path := filepath.Join(dir, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Live returns the files as programs see them.
func (d *Disk) Live() Image {
	out := Image{}
	for n, number := range d.live {
		out[n] = bytes.Clone(d.files[number].live)
	}
	return out
}

// Differs says how the files of a directory differ from what the trace says, or returns "". A
// difference means that the trace lacks an operation. Shared memory is not compared.
func (d *Disk) Differs(dir string) (string, error) {
	seen, err := Read(dir)
	if err != nil {
		return "", err
	}
	for _, n := range slices.Sorted(maps.Keys(seen)) {
		number, known := d.live[n]
		switch {
		case !known:
			return "the file " + n + " was created unseen", nil
		case trace.FileKind(n) != "shm" && !bytes.Equal(seen[n], d.files[number].live):
			return "the file " + n + " was changed unseen", nil
		}
	}
	for _, n := range slices.Sorted(maps.Keys(d.live)) {
		if _, exists := seen[n]; !exists {
			return "the file " + n + " was removed unseen", nil
		}
	}
	return "", nil
}

// choice says which of the waiting changes (not synced yet) persist. It begins with the changes of
// names. After them come the changes of each file, in the order of the files' numbers.
type choice []bool

// order returns the numbers of the files that have waiting changes, in ascending order.
func (d *Disk) order() (list []int) {
	for number, f := range d.files {
		if len(f.waiting) > 0 {
			list = append(list, number)
		}
	}
	slices.Sort(list)
	return list
}

// image returns what the disk holds if the chosen changes persist.
func (d *Disk) image(c choice) Image {
	names := maps.Clone(d.durable)
	for i := range d.waiting {
		if c[i] {
			d.waiting[i].apply(names)
		}
	}
	at := len(d.waiting)
	first := map[int]int{}
	for _, number := range d.order() {
		first[number] = at
		at += len(d.files[number].waiting)
	}
	out := Image{}
	for n, number := range names {
		if trace.FileKind(n) == "shm" {
			continue // a new connection recreates the file of shared memory
		}
		f := d.files[number]
		b := bytes.Clone(f.durable)
		for i := range f.waiting {
			p := &f.waiting[i]
			switch {
			case p.lost || !c[first[number]+i]:
			case p.data == nil:
				b = resized(b, p.size)
			default:
				// The rest of the unit is zeros, as in the kernel's cache. This is so even if the file
				// was longer before and its truncation does not persist.
				b = written(b, p.offset, p.data)
				end, rest := p.offset+int64(len(p.data)), p.offset+d.model.unit()
				clear(b[end:max(end, min(rest, int64(len(b))))])
			}
		}
		out[n] = b
	}
	return out
}
