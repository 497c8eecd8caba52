package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Available returns an error if nothing can be recorded on this system.
func Available() error { return record.Available() }

// AsDocumented reports whether every cell (a driver with settings) was explored and no cell is
// worse than SQLite's documentation says.
func (c *Crashes) AsDocumented() bool {
	for i := range c.Cells {
		if k := &c.Cells[i]; k.Reason != "" || len(k.unexpected()) > 0 || k.troubled() {
			return false
		}
	}
	return true
}

// troubled reports whether something went wrong besides lost or damaged data.
func (c *Cell) troubled() bool {
	for _, o := range c.Results {
		if o.Trouble != "" {
			return true
		}
	}
	return false
}

// ReadArtifact reads the description of a failing state from the directory in which its files are
// kept.
func ReadArtifact(dir string) (*Artifact, error) {
	path := filepath.Join(dir, artifactFile)
	text, err := os.ReadFile(path)
	if err != nil {
		if list, _ := filepath.Glob(filepath.Join(dir, "*", artifactFile)); len(list) > 0 {
			err = fmt.Errorf("it has %s: name one, such as %s", document.Counted(len(list), "state"), filepath.Dir(list[0]))
		}
		return nil, err
	}
	a := &Artifact{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// The file may come from somebody else, so it must not name code to run.
	if !released.MatchString(a.Driver) {
		return nil, fmt.Errorf("%s: %q is not the name of a driver, with or without a version", path, document.Line(a.Driver))
	}
	for name, value := range a.Settings {
		if canonical, err := driver.ParseSetting(name, value); err != nil || canonical != value {
			return nil, fmt.Errorf("%s: %s=%s is not a setting", path, document.Line(name), document.Line(value))
		}
	}
	return a, nil
}

// released matches the names of drivers that are built from released sources.
var released = regexp.MustCompile(`^[a-z0-9]+(@[A-Za-z0-9.+-]+)?$`)

// Describe says how the state came about: the driver, the settings, the fault, and what persisted.
func (a *Artifact) Describe() string {
	f := &a.Failure
	s := fmt.Sprintf("%s with %s, %s, %s, with %s.", document.Line(a.Driver), settingsWords(a.Settings, false, nil), f.Fault.title(), document.Line(f.Operation), document.Line(f.Persisted))
	if f.Injected != nil {
		s += " Before that, a call failed: " + document.Line(f.Injected.String()) + "."
	}
	return s + fmt.Sprintf(" Transaction %d was acknowledged.", f.Acknowledged)
}

// Open lets a driver open a copy of the state in the directory "from", and judges what it finds.
func (a *Artifact) Open(ctx context.Context, w Worker, from, scratch string, limit time.Duration) (Grade, string, error) {
	image, err := disk.Read(from)
	if err != nil {
		return "", "", err
	}
	delete(image, artifactFile)
	x := &Explorer{Dir: scratch, Limit: limit, Attach: a.Attach}
	p := &Planned{Worker: w, Settings: driver.Settings{"pool_size": "1"}}
	if w.Ref.Name == a.Driver {
		p.Settings = (&Planned{Worker: w, Settings: a.Settings}).judging()
	}
	states, err := x.opened(ctx, p, []candidate{{dir: a.Dir, State: &disk.State{Image: image}}})
	if err != nil {
		return "", "", err
	}
	g, why := expectation(a.Digests).grade(a.Failure.Acknowledged, nil, &states[0])
	return g, why, nil
}

// Verdict says what a driver found.
func Verdict(g Grade, why string) string {
	if g == Kept {
		return "nothing lost"
	}
	return gradeWords[g] + ": " + document.Line(why)
}
