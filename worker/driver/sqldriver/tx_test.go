package sqldriver

import "testing"

// TestNext checks that each statement of a transaction has its own object, even if there are more
// statements than elements in the array tx.first.
func TestNext(t *testing.T) {
	tx, seen := &tx{}, map[*stmt]bool{}
	for i := range len(tx.first) + 2 {
		s := tx.next()
		if seen[s] {
			t.Errorf("statement %d has the same object as an earlier statement", i+1)
		}
		seen[s] = true
	}
	if n := testing.AllocsPerRun(10, func() { tx.stmts = 0; tx.next() }); n > 0 {
		t.Errorf("the first statement needs %v allocations, want none", n)
	}
}
