package disk

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// State is what a disk can hold after a fault.
type State struct {
	Image        Image
	Boundary     int    // index of an operation of the trace; the fault is just before it
	Acknowledged int    // number of the last transaction that was acknowledged before the fault; the greatest number, if several faults leave the same files
	Persisted    string // which waiting changes persist, in words

	// Shared has the files in shared memory (-shm) as programs saw them. After a power cut, they
	// are not in Image, but a disk may still hold them, as they were at any earlier time.
	Shared Image
}

// Options say which states of a disk [States] makes.
type Options struct {
	Model Model
	Seed  uint64
	Most  int // greatest number of states, 0 if there is no limit; if there are more states, some are chosen at random
	From  int // index of the first operation before which faults are tried
}

// leastChoices is the least number of choices at each operation, even if fewer states are wanted. A
// choice says which of the waiting changes persist. With few choices, nearly all or nearly none of the
// waiting changes would persist in most states.
const leastChoices = 8

// States calls the function "visit" for different states that a fault can leave after transaction 0 was
// acknowledged. If several faults leave the same files, it calls "visit" only for the state with the most
// acknowledged transactions. If "visit" returns an error, States returns it.
func States(t *trace.Trace, o Options, visit func(*State) error) error {
	boundaries := sampled(boundariesOf(t, o.From), o)
	per := 24
	if o.Most > 0 && len(boundaries) > 0 {
		per = max(o.Most/len(boundaries), leastChoices)
	}
	var list []pending
	d := New(o.Model)
	random := rand.New(rand.NewPCG(o.Seed, 1))
	next, acknowledged := 0, 0
	for n := range len(t.Ops) + 1 {
		if next < len(boundaries) && boundaries[next] == n {
			next++
			for _, s := range d.states(random, per) {
				s.boundary, s.acknowledged = n, acknowledged
				list = append(list, s)
			}
		}
		if n == len(t.Ops) {
			break
		}
		if t.Ops[n].Kind == trace.Acknowledge {
			acknowledged = t.Ops[n].Number
		}
		if err := d.Apply(n, &t.Ops[n]); err != nil {
			return err
		}
	}
	list = distinct(list)
	if o.Most > 0 && len(list) > o.Most {
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:o.Most]
		slices.SortFunc(list, func(a, b pending) int { return a.boundary - b.boundary })
	}
	d, next = New(o.Model), 0
	for n := range len(t.Ops) + 1 {
		for ; next < len(list) && list[next].boundary == n; next++ {
			s := &list[next]
			image := d.Live()
			if o.Model != Kill {
				image = d.image(s.choice)
			}
			if err := visit(&State{image, n, s.acknowledged, s.words, d.shared()}); err != nil {
				return err
			}
		}
		if n < len(t.Ops) {
			if err := d.Apply(n, &t.Ops[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// distinct removes states that have the same files as a later state. The last of these states is
// kept, because it has the most acknowledged transactions.
func distinct(list []pending) (out []pending) {
	last := map[[32]byte]int{}
	for i := range list {
		last[list[i].sum] = i
	}
	for i := range list {
		if last[list[i].sum] == i {
			out = append(out, list[i])
		}
	}
	return out
}

// pending is a state whose files are computed later.
type pending struct {
	sum          [32]byte
	choice       choice // nil for the model [Kill]
	words        string
	boundary     int
	acknowledged int
}

// boundariesOf returns the indexes of the operations before which a fault can make a difference.
// These are the operations after the first acknowledgment, from the index "from" on, except other
// acknowledgments and memory maps. The last element stands for the end of the trace.
func boundariesOf(t *trace.Trace, from int) (list []int) {
	began := false
	for n := range t.Ops {
		if k := t.Ops[n].Kind; k == trace.Acknowledge {
			began = true
		} else if began && n >= from && k != trace.Map {
			list = append(list, n)
		}
	}
	if began {
		list = append(list, len(t.Ops))
	}
	return list
}

// mostBoundaries limits the number of operations before which faults are tried. For each wanted state,
// faults are tried before at most mostBoundaries operations. To see which states are different, all of
// their files are read, which would take too long for every operation of a long trace.
const mostBoundaries = 8

// sampled chooses some of the operations at random. The last operation is always among them.
func sampled(boundaries []int, o Options) []int {
	if o.Most == 0 || len(boundaries) <= mostBoundaries*o.Most {
		return boundaries
	}
	last := len(boundaries) - 1
	random := rand.New(rand.NewPCG(o.Seed, 4))
	var list []int
	for _, i := range random.Perm(last)[:mostBoundaries*o.Most-1] {
		list = append(list, boundaries[i])
	}
	list = append(list, boundaries[last])
	slices.Sort(list)
	return list
}

// shared returns the files in shared memory as programs see them.
func (d *Disk) shared() Image {
	out := Image{}
	for n, number := range d.live {
		if trace.FileKind(n) == "shm" {
			out[n] = bytes.Clone(d.files[number].live)
		}
	}
	return out
}

// truncateFirst adds to a choice of persisting changes the truncations that come before a chosen
// write to the same file. After a truncation, a file system with ordered metadata writes to new
// blocks. These blocks belong to the file only if the truncation persists.
func (d *Disk) truncateFirst(c choice) {
	for _, number := range d.order() {
		parts := d.files[number].waiting
		later := false // a later write persists
		for i := len(parts) - 1; i >= 0; i-- {
			switch {
			case parts[i].data == nil:
				c[i] = c[i] || later
			case !parts[i].lost:
				later = later || c[i]
			}
		}
		c = c[len(parts):]
	}
}

// states returns what the disk can hold now: with all waiting changes, with none, and with about
// "most" other choices of the changes.
func (d *Disk) states(random *rand.Rand, most int) (list []pending) {
	if d.model == Kill {
		return []pending{{sum: d.Live().Sum(), words: "everything"}}
	}
	names, n := len(d.waiting), len(d.waiting)
	for _, f := range d.files {
		n += len(f.waiting)
	}
	seen := map[string]bool{}
	add := func(c choice, words string) {
		if d.model == Ordered { // a change of a name persists only if all earlier changes of names persist
			for i := 1; i < names; i++ {
				c[i] = c[i] && c[i-1]
			}
			d.truncateFirst(c[names:])
		}
		key := make([]byte, n)
		for i := range c {
			if c[i] {
				key[i] = 1
			}
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			list = append(list, pending{sum: d.image(c).Sum(), choice: c, words: words})
		}
	}
	filled := func(keep func(i int) bool) choice {
		c := make(choice, n)
		for i := range c {
			c[i] = keep(i)
		}
		return c
	}
	add(filled(func(int) bool { return true }), "every waiting change")
	add(filled(func(int) bool { return false }), "no waiting change")
	if n <= 4 {
		for bits := range 1 << n {
			add(filled(func(i int) bool { return bits>>i&1 == 1 }), "a subset of the waiting changes")
		}
		return list
	}
	add(filled(func(i int) bool { return i < names }), "names, but no data")
	add(filled(func(i int) bool { return i >= names }), "data, but no names")
	for k := 0; len(seen) < most+4 && k < 4*most; k++ {
		switch at := random.IntN(n); k % 4 {
		case 0:
			add(filled(func(i int) bool { return i != at }), "all waiting changes but one")
		case 1:
			add(filled(func(i int) bool { return i == at }), "one waiting change")
		case 2:
			add(filled(func(i int) bool { return i < at }), "the first waiting changes")
		default:
			add(filled(func(int) bool { return random.IntN(2) == 0 }), "half of the waiting changes, at random")
		}
	}
	return list
}
