package imitate

import (
	"testing"
	"time"
)

// Impatient shortens the time limit for SQLite's computations.
func Impatient(t *testing.T, d time.Duration) {
	before := patience
	patience = d
	t.Cleanup(func() { patience = before })
}
