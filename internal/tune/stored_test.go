package tune_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// written returns an answer in the given format.
func written(t *testing.T, format string, x tune.Tuning) string {
	t.Helper()
	var b bytes.Buffer
	if err := tune.Formats.Write(&b, format, x, document.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestStored checks that a stored answer is printed exactly as it was before it was stored.
func TestStored(t *testing.T) {
	for name, change := range map[string]func(*landscape){
		"steps":         func(l *landscape) { l.worth = hills },
		"nothing worth": func(*landscape) {},
		"interrupted":   func(l *landscape) { l.worth, l.stop = hills, 2 },
		"early":         func(l *landscape) { l.worth, l.time = hills, 5*time.Second },
		"nothing tried": func(l *landscape) { l.names = []string{"txlock", "pool_size", "pool_readers"} },
		"safer":         func(l *landscape) { l.today["synchronous"] = "off"; l.most = conditions.DatabaseLost },
		"refused": func(l *landscape) {
			l.outcome = func(s driver.Settings) *result.Trial {
				if s["mmap_size"] == "0" {
					return nil
				}
				return &result.Trial{Status: result.Refused, Reason: &protocol.Reason{Code: "x", Message: "wanted mmap_size"}}
			}
		},
		// The second confirmation is interrupted, so the answer is based on the run before the last
		// one.
		"second confirmation": func(l *landscape) { l.worth, l.noise, l.time, l.stop = hills, 0.05, 4*time.Minute, -1 },
	} {
		l := newLandscape(5)
		change(l)
		found, err := l.search()
		if err != nil && !errors.Is(err, errInterrupted) {
			t.Fatalf("%s: %v", name, err)
		}
		x := tune.Tuning{Finding: found, Driver: "modernc", Flag: "--set"}
		for _, set := range x.Offered() {
			x.Spelled = append(x.Spelled, tune.Spell(driver.Info{}, set, &dsn.Told{Call: "open", Spelling: &dsn.Spelling{DSN: "file:x"}}))
		}
		answer, err := x.Keep()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		own := l.analyses[x.Run()-1]
		own.Run.Answer = answer
		if before := x.Confirmed != nil && x.Confirmed != own; before != (l.stop == -1) {
			t.Errorf("%s: the answer is based on an earlier run: %t", name, before)
		}
		again, err := tune.Stored(own, func(id int64) (*stats.Analysis, error) { return l.analyses[id-1], nil })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again.Flag = x.Flag
		for _, format := range tune.Formats.Names() {
			if first, second := written(t, format, x), written(t, format, again); first != second {
				t.Errorf("%s: %s has changed from\n%s\nto\n%s", name, format, first, second)
			}
		}
	}
}

// TestStoredBefore checks that the losses of an answer of version 1 keep their meaning. That version has
// no number for the loss of only the last commit.
func TestStoredBefore(t *testing.T) {
	l := newLandscape(5)
	found, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := tune.Tuning{Finding: found, Driver: "modernc"}.Keep()
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]json.RawMessage
	if err := json.Unmarshal(answer.Value, &value); err != nil {
		t.Fatal(err)
	}
	own := l.analyses[len(l.analyses)-1]
	load := func(id int64) (*stats.Analysis, error) { return l.analyses[id-1], nil }
	for version1, want := range []int{conditions.NothingLost, conditions.CommitsLost, conditions.RarelyLost, conditions.DatabaseLost} {
		n := json.RawMessage(strconv.Itoa(version1))
		value["loss"] = n
		value["steps"] = fmt.Appendf(nil, `[{"changes":{},"loss":%s,"level":%[1]s}]`, n)
		value["confirmed"] = json.RawMessage("0")
		if own.Run.Answer, err = result.NewAnswer(answer.Question, 1, value, answer.Runs...); err != nil {
			t.Fatal(err)
		}
		got, err := tune.Stored(own, load)
		if err != nil {
			t.Fatal(err)
		}
		if s := got.Steps[0]; got.Loss != want || s.Loss != want || s.Level != want {
			t.Errorf("%d was read as %d, in the step as %d and %d; want %d", version1, got.Loss, s.Loss, s.Level, want)
		}
	}
}

// TestStoredByOthers checks that an answer that contradicts itself is refused, because somebody
// else may have made it.
func TestStoredByOthers(t *testing.T) {
	l := newLandscape(11)
	l.worth = hills
	found, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	x := tune.Tuning{Finding: found, Driver: "modernc"}
	answer, err := x.Keep()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, value, want string }{
		{"loss", "5", "there is no loss 5"},
		{"loss", `"much"`, "cannot unmarshal"},
		{"margin", "1", "its margin is 1"},
		{"confirmed", "99", "it has no race 99"},
		{"confirmed", "0", "confirmed by race 0"},
		{"tests", "0", "0 tests"},
		{"races", "[]", "it has 0 races"},
		{"took_ns", "-1", "a number is below 0"},
		{"steps", `[{"changes":{}},{"changes":{},"level":-1}]`, "there is no loss 0 or -1"},
		{"steps", `[{"changes":{"journal_mode":"wal"}},{"changes":{}}]`, "its first step changes something"},
		{"steps", `[{"changes":{}},{"changes":{"journal_mode":"fast"}}]`, "journal_mode=fast is not a setting"},
		{"steps", `[{},{},{},{},{},{},{},{},{},{},{},{},{}]`, "does not confirm"},
		{"tried", `[{"setting":"txlock","value":"immediate","status":"fine"}]`, `there is no status "fine"`},
		{"tried", `[{"setting":"txlock","value":"immediate","status":"ok","ratio":{"n":-1}}]`, "its ratio is not one of times"},
		{"tried", `[{"setting":"txlock","value":"immediate","status":"ok","ratio":{"n":1,"median":1,"interval":{"low":-1}}}]`, "its interval is not one of times"},
	} {
		var value map[string]json.RawMessage
		if err := json.Unmarshal(answer.Value, &value); err != nil {
			t.Fatal(err)
		}
		value[c.path] = json.RawMessage(c.value)
		own := l.analyses[x.Run()-1]
		own.Run.Answer, err = result.NewAnswer(answer.Question, answer.Version, value, answer.Runs...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tune.Stored(own, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: %v, want %s", c.path, c.value, err, c.want)
		}
	}
	answer.Version++
	l.analyses[x.Run()-1].Run.Answer = answer
	if _, err := tune.Stored(l.analyses[x.Run()-1], nil); err == nil || !strings.Contains(err.Error(), "a newer sqlite3perf") {
		t.Errorf("a newer answer: %v", err)
	}
}
