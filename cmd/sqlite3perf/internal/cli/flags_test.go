package cli

import (
	"testing"
)

func TestRandomSeed(t *testing.T) {
	for range 100 {
		if s, err := Seed(""); err != nil || uint64(float64(s)) != s {
			t.Fatalf("%d is not kept by a double: %v", s, err)
		}
	}
}
