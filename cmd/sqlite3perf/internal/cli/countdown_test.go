package cli

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestCountdown checks the time until an answer, which the bar shows. The bar must show it from the first
// second, correct it whenever a worker is built, and say so if everything takes longer than estimated.
func TestCountdown(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: 120, Now: func() time.Time { return now }}, false)
	await := Await{For: "the first answer", Measure: time.Minute, Built: build.Expectation{
		Download: 10 * time.Second, Total: 3 * time.Minute, Less: true, Builds: []build.ExpectedBuild{
			{Name: "mattn", Ready: 10 * time.Second, Takes: time.Minute},
			{Name: "modernc", Ready: 10 * time.Second, Takes: 2 * time.Minute},
			{Name: "ncruces", Ready: 20 * time.Second, Takes: 110 * time.Second},
		},
	}}
	if got, want := await.Words(), "about 4m0s (10s to download, 2m50s to build, about 1m0s to measure: estimated; less if Go's build cache has parts of it)"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	p.Await(func() *Await { return &await })
	p.endTicks() // instead of a timer, the test calls tick
	p.endTicks = func() {}
	var got []string
	share := regexp.MustCompile(`\s+\d+$`)
	at := func(after time.Duration) {
		now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Add(after)
		p.tick()
		drawn := out.String()
		text, _, _ := strings.Cut(drawn[strings.LastIndex(drawn, "\r")+1:], "% |")
		got = append(got, strings.TrimSpace(share.ReplaceAllString(text, "")))
	}
	at(0)
	p.Building(1, 3, "mattn")
	at(20 * time.Second)
	p.Building(2, 3, "modernc")
	at(30 * time.Second)
	p.Built(1, 3, "mattn", nil) // the build took half of the expected time
	p.Building(3, 3, "ncruces")
	at(30 * time.Second)
	at(139 * time.Second)
	at(141 * time.Second) // both workers were expected to be built by now
	p.Built(2, 3, "modernc", errors.New("no network"))
	at(150 * time.Second)
	p.Built(3, 3, "ncruces", nil)
	at(160 * time.Second)
	ok := &result.Trial{Status: result.OK, TookNS: int64(time.Second)}
	p.Trial(1, 6, 1, 2, 0, &lab.Case{}, ok)
	at(160 * time.Second)
	p.Trial(1, 6, 2, 2, 40*time.Second, &lab.Case{}, ok)
	at(160 * time.Second)
	want := []string{
		"about 4m0s until the first answer: downloading",
		"about 3m30s until the first answer: building mattn",
		"about 3m20s until the first answer: building mattn, modernc",
		"about 2m50s until the first answer: building modernc, ncruces",
		"about 1m0s until the first answer: building modernc, ncruces",
		"longer than estimated until the first answer: building modernc, ncruces",
		"longer than estimated until the first answer: building ncruces",
		"about 50s until the first answer: measuring",
		"about 50s until the first answer: round 1 of 6, trial 1 of 2",
		"about 40s until the first answer: round 1 of 6, trial 2 of 2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestCountdownOfUnknown checks what the bar says if it is not known how long the trials of a workload
// take.
func TestCountdownOfUnknown(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	c := newCountdown(Await{For: "the first answer", Longer: true, Built: build.Expectation{
		Total: time.Minute, Builds: []build.ExpectedBuild{{Name: "mattn", Takes: time.Minute}},
	}}, now)
	first, _ := c.before(now)
	c.built("mattn", nil, now.Add(50*time.Second))
	measuring, _ := c.before(now.Add(51 * time.Second))
	trial, _ := c.during(now.Add(52*time.Second), 0, false, "round 1 of 6")
	known, _ := c.during(now.Add(53*time.Second), 10*time.Second, false, "round 2 of 6")
	want := []string{
		"at least 1m0s until the first answer: downloading", "estimating the time until the first answer: measuring",
		"estimating the time until the first answer: round 1 of 6", "about 10s until the first answer: round 2 of 6",
	}
	if d := cmp.Diff(want, []string{first, measuring, trial, known}); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestPace checks that Pace uses the fastest of its measurements, and is never above its limit.
func TestPace(t *testing.T) {
	for want, times := range map[float64][]time.Duration{
		2: {900 * time.Millisecond, 20 * time.Millisecond, time.Second, time.Second, time.Second},
		4: {time.Second, time.Second, time.Second, time.Second, time.Second},
	} {
		env := &Environment{Calibrate: func() (d time.Duration) {
			d, times = times[0], times[1:]
			return d
		}}
		if got := env.Pace(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestCountdownCorrectsItself builds two workers that are expected to take 60 s each. The time of the first
// build must change the estimate for the second. There is an exception: if Go's build cache is not empty, a
// short first build must not change the estimate, because the C code of the second worker may never have
// been compiled. The share of the time that is over must never go down.
func TestCountdownCorrectsItself(t *testing.T) {
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name     string
		less     bool
		took     time.Duration // time that the first build took
		together bool          // both builds begin at once
		want     string
	}{
		{"the first was in Go's cache", true, 7 * time.Second, true, "about 53s"},
		{"a fast machine", false, 15 * time.Second, false, "about 15s"},
		{"a slow machine", true, 90 * time.Second, false, "about 1m30s"},
		{"a slow machine, both at once", true, 90 * time.Second, true, "longer than estimated"},
	} {
		c := newCountdown(Await{For: "the first trial", Built: build.Expectation{Total: time.Minute, Less: tc.less, Builds: []build.ExpectedBuild{
			{Name: "mattn", Takes: time.Minute}, {Name: "mattn=./fork", Takes: time.Minute},
		}}}, began)
		c.starts("mattn", began)
		if tc.together {
			c.starts("mattn=./fork", began)
		}
		_, before := c.before(began.Add(tc.took))
		c.built("mattn", nil, began.Add(tc.took))
		if !tc.together {
			c.starts("mattn=./fork", began.Add(tc.took))
		}
		got, after := c.before(began.Add(tc.took + time.Second/2))
		if got, _, _ := strings.Cut(got, " until "); got != tc.want || after < before {
			t.Errorf("%s: %s, want %s; %.2f after %.2f", tc.name, got, tc.want, after, before)
		}
	}
}

// TestCountdownInAnotherOrder checks that the estimate stays sensible if the worker that was expected last is
// built first.
func TestCountdownInAnotherOrder(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	c := newCountdown(Await{For: "the first trial", Built: build.Expectation{
		Total: 2 * time.Minute, Builds: []build.ExpectedBuild{{Name: "mattn", Takes: time.Minute}, {Name: "ncruces", Takes: time.Minute}},
	}}, now)
	c.starts("ncruces", now)
	c.built("ncruces", nil, now.Add(time.Minute))
	got, _ := c.before(now.Add(70 * time.Second))
	if want := "about 1m0s until the first trial: downloading"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
