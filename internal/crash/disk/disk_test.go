package disk

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// The functions below make operations on files. The parameter "file" is the file's number.

func create(file int, name string) trace.Op {
	return trace.Op{Kind: trace.Create, File: file, Name: name}
}

func remove(file int, name string) trace.Op {
	return trace.Op{Kind: trace.Remove, File: file, Name: name}
}

func rename(file int, name, to string) trace.Op {
	return trace.Op{Kind: trace.Rename, File: file, Name: name, To: to}
}

func write(file int, offset int64, data string) trace.Op {
	return trace.Op{Kind: trace.Write, File: file, Offset: offset, Data: []byte(data)}
}

func truncate(file int, size int64) trace.Op {
	return trace.Op{Kind: trace.Truncate, File: file, Size: size}
}

func sync(file int) trace.Op { return trace.Op{Kind: trace.Sync, File: file} }

func failedSync(file int) trace.Op { return trace.Op{Kind: trace.Sync, File: file, Failed: true} }

func syncDir(name string) trace.Op { return trace.Op{Kind: trace.SyncDir, Name: name} }

func acknowledge(n int) trace.Op { return trace.Op{Kind: trace.Acknowledge, Number: n} }

// pages returns the content of several pages. Each page repeats one of the letters.
func pages(letters string) string { return repeated(letters, 4096) }

// sectors returns the content of several sectors. Each sector repeats one of the letters.
func sectors(letters string) string { return repeated(letters, 512) }

func repeated(letters string, size int) string {
	var b strings.Builder
	for i := range len(letters) {
		b.WriteString(strings.Repeat(letters[i:i+1], size))
	}
	return b.String()
}

// words describes an image. For each file it gives the name. For each piece of the file's content,
// it gives the repeated byte (a dot for zero) and the number of bytes, in sectors if possible.
func words(i Image) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(i)) {
		s := name + "="
		for rest := i[name]; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n] == rest[0] {
				n++
			}
			letter := string(rest[:1])
			if rest[0] == 0 {
				letter = "."
			}
			if n%512 == 0 {
				s += fmt.Sprintf("%s%d", letter, n/512)
			} else {
				s += fmt.Sprintf("%s(%d)", letter, n)
			}
			rest = rest[n:]
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

// statesOf returns all states of a trace, by the descriptions that the function "words" returns.
func statesOf(t *testing.T, ops []trace.Op, o Options) map[string]State {
	t.Helper()
	out := map[string]State{}
	err := States(&trace.Trace{Ops: ops}, o, func(s *State) error {
		w := words(s.Image)
		if _, seen := out[w]; seen {
			t.Errorf("the state %q was passed twice", w)
		}
		out[w] = *s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// durableFile returns operations after which a file of some pages is durable in every model.
func durableFile(file int, name, letters string) []trace.Op {
	return []trace.Op{create(file, name), write(file, 0, pages(letters)), sync(file), syncDir(filepath.Dir(name))}
}

func join(lists ...[]trace.Op) []trace.Op { return slices.Concat(lists...) }

// TestStatesAtTheEnd compares all states after the last operation with the states that each model
// allows.
func TestStatesAtTheEnd(t *testing.T) {
	old := durableFile(1, "a", "AA")
	for _, c := range []struct {
		name    string
		models  []Model
		ops     []trace.Op
		allowed []string
	}{
		{"a kill loses nothing", []Model{Kill}, join(old, []trace.Op{create(2, "b"), write(1, 0, pages("B")), remove(2, "b"), truncate(1, 512)}), []string{"a=B1"}},
		{"unsynced pages are absent in any subset", []Model{Ordered}, join(old, []trace.Op{write(1, 0, pages("BC"))}),
			[]string{"a=A16", "a=B8A8", "a=A8C8", "a=B8C8"}},
		{"unsynced sectors are absent in any subset", []Model{Posix}, join(old, []trace.Op{write(1, 0, sectors("BC"))}),
			[]string{"a=A16", "a=B1A15", "a=A1C1A14", "a=B1C1A14"}},
		{"a page persists as a whole", []Model{Ordered}, join(old, []trace.Op{write(1, 0, sectors("BC"))}), []string{"a=A16", "a=B1C1A14"}},
		{"a write that crosses pages is torn between them", []Model{Ordered}, join(old, []trace.Op{write(1, 4096-512, sectors("BC"))}),
			[]string{"a=A16", "a=A7B1A8", "a=A8C1A7", "a=A7B1C1A7"}},
		{"a page that persists has all earlier writes to it", []Model{Ordered}, join(old, []trace.Op{write(1, 0, sectors("B")), write(1, 512, sectors("C"))}),
			[]string{"a=A16", "a=B1A15", "a=B1C1A14"}},
		{"synced data is there", []Model{Ordered, Posix}, join(old, []trace.Op{write(1, 0, pages("BC")), sync(1)}), []string{"a=B8C8"}},
		{"a sync is only of its file", []Model{Ordered, Posix}, join(old, durableFile(2, "b", "B"), []trace.Op{write(1, 0, sectors("C")), sync(2)}),
			[]string{"a=A16 b=B8", "a=C1A15 b=B8"}},
		{"a file may grow before its content is there", []Model{Ordered}, join(old, []trace.Op{write(1, 4*4096, "end")}), []string{"a=A16", "a=A16.16e(1)n(1)d(1)"}},
		{"truncation", []Model{Ordered, Posix}, join(old, []trace.Op{truncate(1, 100)}), []string{"a=A16", "a=A(100)"}},
		{"what was cut off stays away", []Model{Ordered, Posix}, join(old, []trace.Op{truncate(1, 512), truncate(1, 1024)}), []string{"a=A16", "a=A1", "a=A2", "a=A1.1"}},
		{"a write after a truncation", []Model{Ordered}, join(old, []trace.Op{truncate(1, 0), write(1, 0, sectors("B"))}),
			[]string{"a=A16", "a=", "a=B1"}}, // the write never persists without the truncation
		{"a synced truncation", []Model{Ordered, Posix}, join(old, []trace.Op{truncate(1, 0), write(1, 4096, sectors("B")), sync(1)}), []string{"a=.8B1"}},
		{"an empty write changes nothing", []Model{Kill, Ordered, Posix}, join(old, []trace.Op{write(1, 100_000, "")}), []string{"a=A16"}},
		{"a write that failed did nothing", []Model{Kill, Ordered, Posix}, join(old, []trace.Op{{Kind: trace.Write, File: 1, Data: []byte("no"), Failed: true}}), []string{"a=A16"}},
	} {
		for _, m := range c.models {
			t.Run(c.name+" "+string(m), func(t *testing.T) { allowed(t, m, c.ops, c.allowed) })
		}
	}
}

// allowed checks that a model allows exactly the wanted states after the last operation.
func allowed(t *testing.T, m Model, ops []trace.Op, want []string) {
	t.Helper()
	states := statesOf(t, join([]trace.Op{acknowledge(0)}, ops), Options{Model: m, From: 1 << 30})
	if got := slices.Sorted(maps.Keys(states)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the states are\n%q, want\n%q", got, want)
	}
}

// TestNamesAtTheEnd is like [TestStatesAtTheEnd], for operations on names.
func TestNamesAtTheEnd(t *testing.T) {
	two := []trace.Op{create(1, "a"), create(2, "b")}
	journal := durableFile(1, "j", "J")
	saved := join(durableFile(1, "a", "A"), durableFile(2, "t", "T"))
	moved := join(durableFile(1, "x/a", "A"), []trace.Op{rename(1, "x/a", "y/a")})
	for _, c := range []struct {
		name    string
		models  []Model
		ops     []trace.Op
		allowed []string
	}{
		{"a sync of the file makes its creation durable", []Model{Ordered}, []trace.Op{create(1, "a"), sync(1)}, []string{"a="}},
		{"a sync of the file does not make its name durable", []Model{Posix}, []trace.Op{create(1, "a"), sync(1)}, []string{"", "a="}},
		{"a sync of the directory does", []Model{Posix, Ordered}, []trace.Op{create(1, "a"), syncDir(".")}, []string{"a="}},
		{"but not the data", []Model{Posix, Ordered}, []trace.Op{create(1, "a"), write(1, 0, "A"), syncDir(".")}, []string{"a=", "a=A(1)"}},
		{"a sync of another directory does nothing", []Model{Posix, Ordered}, []trace.Op{create(1, "a"), syncDir("x")}, []string{"", "a="}},
		{"names persist in order", []Model{Ordered}, two, []string{"", "a=", "a= b="}},
		{"names persist in any subset", []Model{Posix}, two, []string{"", "a=", "b=", "a= b="}},
		{"a sync makes earlier names durable", []Model{Ordered}, join(two, []trace.Op{sync(2)}), []string{"a= b="}},
		{"a sync does not make later names durable", []Model{Ordered}, join(two, []trace.Op{sync(1)}), []string{"a=", "a= b="}},
		{"a removed journal comes back", []Model{Ordered, Posix}, join(journal, []trace.Op{remove(1, "j")}), []string{"", "j=J8"}},
		{"also if the removed file is synced", []Model{Ordered, Posix}, join(journal, []trace.Op{remove(1, "j"), sync(1)}), []string{"", "j=J8"}},
		{"until its directory is synced", []Model{Ordered, Posix}, join(journal, []trace.Op{remove(1, "j"), syncDir(".")}), []string{""}},
		{"or a file that was created later", []Model{Ordered}, join(journal, []trace.Op{remove(1, "j"), create(2, "k"), sync(2)}), []string{"k="}},
		{"not one that was created earlier", []Model{Ordered}, join(journal, []trace.Op{create(2, "k"), remove(1, "j"), sync(2)}), []string{"k=", "j=J8 k="}},
		{"a renamed file has one of its names", []Model{Ordered, Posix}, join(saved, []trace.Op{rename(2, "t", "a")}), []string{"a=A8 t=T8", "a=T8"}},
		{"a synced renaming", []Model{Ordered, Posix}, join(saved, []trace.Op{rename(2, "t", "a"), syncDir(".")}), []string{"a=T8"}},
		{"a renaming is durable with a sync of the file", []Model{Ordered}, join(saved, []trace.Op{rename(2, "t", "a"), sync(2)}), []string{"a=T8"}},
		{"a renaming between directories", []Model{Ordered}, moved, []string{"x/a=A8", "y/a=A8"}},
		{"each directory needs a sync", []Model{Posix}, moved, []string{"", "x/a=A8", "y/a=A8", "x/a=A8 y/a=A8"}},
		{"the new directory is synced", []Model{Posix}, join(moved, []trace.Op{syncDir("y")}), []string{"y/a=A8", "x/a=A8 y/a=A8"}},
		{"the old directory is synced last", []Model{Posix}, []trace.Op{create(1, "x/a"), rename(1, "x/a", "y/a"), syncDir("y"), syncDir("x")}, []string{"y/a="}},
		{"the name of a removed file is used again", []Model{Ordered}, join(journal, []trace.Op{remove(1, "j"), create(2, "j")}), []string{"j=J8", "", "j="}},
	} {
		for _, m := range c.models {
			t.Run(c.name+" "+string(m), func(t *testing.T) { allowed(t, m, c.ops, c.allowed) })
		}
	}
}

// TestFailedSync checks that later syncs do not write the pages of a failed sync either, until a
// program writes to these pages again. Programs must still read what they wrote before.
func TestFailedSync(t *testing.T) {
	failed := join(durableFile(1, "a", "AA"), []trace.Op{write(1, 0, sectors("B")), failedSync(1)})
	for _, c := range []struct {
		name          string
		ops           []trace.Op
		ordered, live string
	}{
		{"lost", nil, "a=A16", "a=B1A15"},
		{"not in a later sync", []trace.Op{sync(1)}, "a=A16", "a=B1A15"},
		{"nor with another page", []trace.Op{write(1, 4096, pages("C")), sync(1)}, "a=A8C8", "a=B1A7C8"},
		{"nor in a sync after that", []trace.Op{sync(1), write(1, 4096, pages("C")), sync(1)}, "a=A8C8", "a=B1A7C8"},
		{"a later write brings the whole page", []trace.Op{write(1, 1024, sectors("C")), sync(1)}, "a=B1A1C1A13", "a=B1A1C1A13"},
		{"also after a sync", []trace.Op{sync(1), write(1, 1024, sectors("C")), sync(1)}, "a=B1A1C1A13", "a=B1A1C1A13"},
		{"a second failure", []trace.Op{write(1, 4096, pages("C")), failedSync(1), sync(1)}, "a=A16", "a=B1A7C8"},
		{"the size is not lost", []trace.Op{truncate(1, 8), failedSync(1), sync(1)}, "a=A(8)", "a=B(8)"},
		{"what was cut off stays away", []trace.Op{truncate(1, 0), failedSync(1), write(1, 4096, pages("C")), sync(1)}, "a=.8C8", "a=.8C8"},
	} {
		for _, m := range []Model{Ordered, Posix} {
			t.Run(c.name+" "+string(m), func(t *testing.T) { allowed(t, m, join(failed, c.ops), []string{c.ordered}) })
		}
		t.Run(c.name+" kill", func(t *testing.T) { allowed(t, Kill, join(failed, c.ops), []string{c.live}) })
	}
	t.Run("before it is synced, a later write persists or not", func(t *testing.T) {
		allowed(t, Ordered, join(failed, []trace.Op{write(1, 1024, sectors("C"))}), []string{"a=A16", "a=B1A1C1A13"})
	})
	t.Run("a failed sync makes no name durable", func(t *testing.T) {
		allowed(t, Ordered, []trace.Op{create(1, "a"), failedSync(1)}, []string{"", "a="})
	})
}

// TestSharedMemory checks that data written through memory maps survives a kill, and that states
// after a power failure have no -shm file.
func TestSharedMemory(t *testing.T) {
	shared := trace.Op{Kind: trace.Map, File: 2, Data: []byte("MM")}
	ops := join(durableFile(1, "a", "A"), []trace.Op{create(2, "a-shm"), truncate(2, 1), shared, write(2, 1, "N"), sync(2), syncDir(".")})
	allowed(t, Kill, ops, []string{"a=A8 a-shm=M(1)N(1)"})
	for _, m := range []Model{Ordered, Posix} {
		err := States(&trace.Trace{Ops: append([]trace.Op{{Kind: trace.Acknowledge}}, ops...)}, Options{Model: m, From: 1 << 30}, func(s *State) error {
			if len(s.Shared) != 1 || len(s.Shared["a-shm"]) == 0 || s.Image["a-shm"] != nil {
				t.Errorf("%s: shared %q, image %q", m, s.Shared, s.Image)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	allowed(t, Ordered, ops, []string{"a=A8"})
	allowed(t, Posix, ops, []string{"a=A8"})
	if string(shared.Data) != "MM" {
		t.Errorf("the trace was changed: %q", shared.Data)
	}
}

// TestApplyErrors checks the errors of operations that no trace has.
func TestApplyErrors(t *testing.T) {
	d := New(Ordered)
	for want, o := range map[string]trace.Op{
		"operation 3 is on file 7, which was never created": write(7, 0, "x"),
		"operation 3 is of the unknown kind 99":             {Kind: 99, File: 1},
	} {
		first := create(1, "a")
		if err := d.Apply(0, &first); err != nil {
			t.Fatal(err)
		}
		if err := d.Apply(3, &o); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	if err := States(&trace.Trace{Ops: []trace.Op{sync(1)}}, Options{Model: Kill}, nil); err == nil {
		t.Error("States returns no error for a file that was never created")
	}
}

// TestDirectory checks that an image can be written to a directory, and that Differs finds each
// difference between a directory and a trace, but not in shared memory.
func TestDirectory(t *testing.T) {
	d := New(Kill)
	for i, o := range []trace.Op{create(1, "a"), write(1, 0, "text"), create(2, "sub/b"), create(3, "a-shm")} {
		if err := d.Apply(i, &o); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, want string
		change     func(Image)
	}{
		{"none", "", func(Image) {}},
		{"shared memory", "", func(i Image) { i["a-shm"] = []byte("other") }},
		{"content", "the file a was changed unseen", func(i Image) { i["a"] = []byte("tex") }},
		{"new file", "the file sub/c was created unseen", func(i Image) { i["sub/c"] = nil }},
		{"removed file", "the file sub/b was removed unseen", func(i Image) { delete(i, "sub/b") }},
	} {
		i, dir := d.Live(), t.TempDir()
		c.change(i)
		if err := i.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Differs(dir); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if _, err := d.Differs(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("the error for a directory that does not exist is %v", err)
	}
}

// TestLiveIsACopy checks that later operations do not change an image.
func TestLiveIsACopy(t *testing.T) {
	d := New(Kill)
	for i, o := range []trace.Op{create(1, "a"), write(1, 0, "text")} {
		if err := d.Apply(i, &o); err != nil {
			t.Fatal(err)
		}
	}
	before := d.Live()
	o := write(1, 0, "T")
	if err := d.Apply(2, &o); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before["a"], []byte("text")) {
		t.Errorf("the image became %q", before["a"])
	}
}

// TestSum checks that images with different names or contents have different sums.
func TestSum(t *testing.T) {
	seen := map[[32]byte]Image{}
	for _, i := range []Image{{}, {"a": nil}, {"b": nil}, {"a": []byte("b")}, {"a": nil, "b": nil}, {"ab": nil}, {"a": []byte("\"b\" 0 ")}, {"a": {0}}} {
		if other, known := seen[i.Sum()]; known {
			t.Errorf("%q and %q have the same sum", i, other)
		}
		seen[i.Sum()] = i
	}
	if (Image{"a": nil}).Sum() != (Image{"a": {}}).Sum() {
		t.Error("nil and empty content have different sums")
	}
}
