package disk

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// maker makes a random trace. It keeps all contents that each unit of each file ever had.
type maker struct {
	random  *rand.Rand
	unit    int64
	faulty  bool // some syncs fail
	ops     []trace.Op
	content map[int][]byte // contents of files, by the number of the file
	ever    map[int]map[int64][][]byte
	cuts    map[int][]int64 // sizes to which a file was truncated
	synced  map[int]bool    // true if the last operation on the file's content was a sync
	names   map[string]int
	owners  map[string][]int // numbers of the files that ever had a name, by the name
	before  []string         // the names that existed after each operation on names
}

var possibleNames = []string{"a", "b", "x/a", "x/b", "a-shm"}

// step adds a random operation.
func (m *maker) step() {
	name := possibleNames[m.random.IntN(len(possibleNames))]
	file, exists := m.names[name]
	if !exists {
		file = len(m.content) + 1
		m.content[file], m.ever[file], m.synced[file] = nil, map[int64][][]byte{}, true
		m.name(create(file, name), "", name)
		return
	}
	switch k := m.random.IntN(20); {
	case k < 9:
		data := make([]byte, m.random.IntN(5000))
		for i := range data {
			data[i] = byte(1 + m.random.IntN(255))
		}
		o := write(file, int64(m.random.IntN(9000)), string(data))
		if k < 3 {
			o.Offset = o.Offset / 4096 * 4096 // begins at a page, as most writes of databases do
		}
		m.ops = append(m.ops, o)
		if end := int(o.Offset) + len(data); len(data) > 0 && end > len(m.content[file]) {
			m.content[file] = append(m.content[file], make([]byte, end-len(m.content[file]))...)
		}
		if len(data) > 0 {
			copy(m.content[file][o.Offset:], data)
		}
		m.changed(file)
	case k < 11:
		size := int64(m.random.IntN(9000))
		m.ops = append(m.ops, truncate(file, size))
		m.cuts[file] = append(m.cuts[file], size)
		grown := append(slices.Clone(m.content[file]), make([]byte, size)...)
		m.content[file] = grown[:size]
		m.changed(file)
	case k < 15:
		failed := m.faulty && m.random.IntN(2) == 0
		m.ops = append(m.ops, trace.Op{Kind: trace.Sync, File: file, Failed: failed})
		m.synced[file] = m.synced[file] || !failed
	case k < 17:
		m.ops = append(m.ops, syncDir(filepath.Dir(name)))
	case k < 18:
		m.name(remove(file, name), name, "")
	default:
		to := possibleNames[m.random.IntN(len(possibleNames))]
		if to != name && (trace.FileKind(to) == "shm") == (trace.FileKind(name) == "shm") {
			m.name(rename(file, name, to), name, to)
		}
	}
}

// changed adds the present content of each unit of a file to the contents that the unit ever had.
func (m *maker) changed(file int) {
	m.synced[file] = false
	for at := int64(0); at < int64(len(m.content[file])); at += m.unit {
		u := padded(m.content[file][at:], m.unit)
		if list := m.ever[file][at]; len(list) == 0 || !bytes.Equal(list[len(list)-1], u) {
			m.ever[file][at] = append(list, u)
		}
	}
}

// padded returns the first bytes of b. If b is shorter than the parameter "size", zeros follow.
func padded(b []byte, size int64) []byte {
	out := make([]byte, size)
	copy(out, b)
	return out
}

// name adds an operation on names.
func (m *maker) name(o trace.Op, from, to string) {
	m.ops = append(m.ops, o)
	delete(m.names, from)
	if to != "" {
		m.names[to] = o.File
		m.owners[to] = append(m.owners[to], o.File)
	}
	m.before = append(m.before, namesIn(slices.Collect(maps.Keys(m.names))))
}

func namesIn(list []string) string {
	list = slices.DeleteFunc(list, func(n string) bool { return trace.FileKind(n) == "shm" })
	return strings.Join(slices.Sorted(slices.Values(list)), " ")
}

// wasThere reports whether a unit of a file ever had the content u. A write may have left u. Or u may be
// the beginning of a former content, which a truncation has cut, followed by zeros.
func (m *maker) wasThere(file int, at int64, u []byte) bool {
	if bytes.Equal(u, make([]byte, len(u))) {
		return true
	}
	for _, was := range m.ever[file][at] {
		if bytes.Equal(u, was) {
			return true
		}
		for _, size := range m.cuts[file] {
			if k := size - at; k > 0 && k < m.unit && bytes.Equal(u, padded(was[:k], m.unit)) {
				return true
			}
		}
	}
	return false
}

// check returns an error if a state contradicts the trace.
func (m *maker) check(model Model, i Image) error {
	if got := namesIn(slices.Collect(maps.Keys(i))); model == Ordered && !slices.Contains(m.before, got) && got != "" {
		return fmt.Errorf("the names %q never existed at the same time", got)
	}
	for name, data := range i {
		if trace.FileKind(name) == "shm" {
			return fmt.Errorf("%s survived", name)
		}
		for at := int64(0); at < int64(len(data)); at += m.unit {
			u := padded(data[at:], m.unit)
			if !slices.ContainsFunc(m.owners[name], func(file int) bool { return m.wasThere(file, at, u) }) {
				return fmt.Errorf("%s never had this content at offset %d", name, at)
			}
		}
		if owners := m.owners[name]; !m.faulty && len(owners) == 1 && m.synced[owners[0]] && !bytes.Equal(data, m.content[owners[0]]) {
			return fmt.Errorf("%s was synced, but has other content", name)
		}
	}
	return nil
}

// live returns the files as programs see them after the last operation.
func (m *maker) live(shared bool) Image {
	out := Image{}
	for name, file := range m.names {
		if shared || trace.FileKind(name) != "shm" {
			out[name] = m.content[file]
		}
	}
	return out
}

// end returns the states after the last operation.
func (m *maker) end(t *testing.T, o Options) (out []Image) {
	t.Helper()
	o.From = 1 << 30
	err := States(&trace.Trace{Ops: m.ops}, o, func(s *State) error {
		out = append(out, s.Image)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// property checks, with one random trace, what must be true for all traces.
func property(t *testing.T, seed uint64, model Model, faulty bool) {
	t.Helper()
	m := &maker{random: rand.New(rand.NewPCG(seed, 0)), unit: model.unit(), faulty: faulty, ops: []trace.Op{acknowledge(0)},
		content: map[int][]byte{}, ever: map[int]map[int64][][]byte{}, cuts: map[int][]int64{}, synced: map[int]bool{},
		names: map[string]int{}, owners: map[string][]int{}}
	for range 5 + m.random.IntN(25) {
		m.step()
	}
	states := m.end(t, Options{Model: model, Seed: seed})
	live := m.live(model == Kill)
	if model == Kill && len(states) != 1 {
		t.Errorf("seed %d, %s: there are %d states after a kill", seed, model, len(states))
	}
	found := false
	for _, i := range states {
		found = found || i.Sum() == live.Sum()
		if model == Kill {
			continue
		}
		if err := m.check(model, i); err != nil {
			t.Errorf("seed %d, %s, faulty %v: %v", seed, model, faulty, err)
		}
	}
	if !found && (!faulty || model == Kill) {
		t.Errorf("seed %d, %s: no state has all changes", seed, model)
	}
	for _, file := range slices.Sorted(maps.Values(m.names)) {
		m.ops = append(m.ops, sync(file))
	}
	m.ops = append(m.ops, syncDir("."), syncDir("x"))
	states = m.end(t, Options{Model: model, Seed: seed})
	switch {
	case len(states) != 1:
		t.Errorf("seed %d, %s, faulty %v: after a sync of everything there are %d states", seed, model, faulty, len(states))
	case namesIn(slices.Collect(maps.Keys(states[0]))) != namesIn(slices.Collect(maps.Keys(live))):
		t.Errorf("seed %d, %s: after a sync of everything the names are %v", seed, model, slices.Sorted(maps.Keys(states[0])))
	case !faulty && states[0].Sum() != live.Sum():
		t.Errorf("seed %d, %s: after a sync of everything the files differ from the files that programs see", seed, model)
	case model != Kill:
		if err := m.check(model, states[0]); err != nil {
			t.Errorf("seed %d, %s, faulty %v: after a sync of everything: %v", seed, model, faulty, err)
		}
	}
}

// FuzzStates checks random traces. Each unit of each state must have a content that it had at some
// time. Synced files must have the content that programs saw. One state must have all changes. After
// a sync of everything, there must be no other state. Pages that were lost because a sync failed are
// exceptions.
func FuzzStates(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, model := range Models {
			property(t, seed, model, false)
			property(t, seed, model, true)
		}
	})
}
