package main

import (
	"testing"
	"time"
)

// TestRefusal checks that the error about a --time that is too short names a --time that is long
// enough.
func TestRefusal(t *testing.T) {
	l := limited{what: "locks of 2 drivers and 29 choices", takes: "takes", fewer: "fewer drivers", more: " or --rounds 6", limit: 30 * time.Second, least: 212 * time.Second}
	const want = "--time 30s: locks of 2 drivers and 29 choices takes at least 3m32s: name fewer drivers, or give --time 4m or --rounds 6"
	if got := l.refusal().Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for least, want := range map[time.Duration]string{
		time.Millisecond: "1s", 6 * time.Second: "7s", 36 * time.Second: "40s", 100 * time.Second: "1m50s", 9 * time.Minute: "10m", 70 * time.Minute: "1h17m",
	} {
		if got := enough(least); got != want {
			t.Errorf("%v: %s, want %s", least, got, want)
		}
		if d, err := time.ParseDuration(want); err != nil || d < least+least/10 {
			t.Errorf("%v is not enough for %v (%v)", d, least, err)
		}
	}
}
