package imitate

import (
	"testing"
	"time"
)

// Impatient shortens for how long SQLite may compute.
func Impatient(t *testing.T, d time.Duration) {
	before := patience
	patience = d
	t.Cleanup(func() { patience = before })
}
