package catalog

import (
	"cmp"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// List is the list of drivers, as a document and as data.
type List struct {
	Document document.Document
	Drivers  []JSONDriver
}

// ListVersion is the version of [JSONDrivers].
const ListVersion = 1

// JSONDrivers is the list of drivers in JSON.
type JSONDrivers struct {
	Version int          `json:"version"`
	Drivers []JSONDriver `json:"drivers"`
}

// JSONDriver describes a driver.
type JSONDriver struct {
	Name        string            `json:"name"`
	Module      string            `json:"module,omitempty"`
	Version     string            `json:"version"`            // version of the module; "-" if it is not known
	Released    string            `json:"released,omitempty"` // day on which the version was made, if it is the pinned version
	Maintenance *JSONMaintenance  `json:"maintenance,omitempty"`
	Kind        driver.Kind       `json:"kind"`
	Interface   driver.Interface  `json:"interface"`
	Worker      string            `json:"worker"`                // state of the driver's worker, or the path of an executable
	Unavailable string            `json:"unavailable,omitempty"` // why the driver's worker cannot be built or run here
	Optional    bool              `json:"optional,omitempty"`    // the driver is measured only if the user names it
	Limits      map[string]string `json:"limits,omitempty"`      // what the driver cannot do or does differently, with the reasons
}

// JSONMaintenance is what a library's repository says about its maintenance.
type JSONMaintenance struct {
	Statement string `json:"statement,omitempty"` // absent if the repository says nothing about it
	Source    string `json:"source"`
	LookedUp  string `json:"looked_up"` // day on which the source was read
}

// JSON returns the value that encoding/json writes as the list of drivers.
func (l List) JSON() any { return JSONDrivers{ListVersion, l.Drivers} }

// describe sets the fields that are known without running the driver's worker.
func (d *JSONDriver) describe(k build.Known) {
	d.Name, d.Module, d.Kind, d.Interface, d.Optional, d.Limits = k.Name, k.Module, k.Kind, k.Interface, k.Optional, k.Limits
	if r := k.Release; r != nil && r.Version == d.Version {
		d.Released = r.Date
	}
	if m := k.Maintenance; m != nil {
		d.Maintenance = &JSONMaintenance{m.Statement, m.Source, m.LookedUp}
	}
}

// releaseLines says when a driver's version was made, and whether the library is maintained.
func releaseLines(d JSONDriver) (lines []string) {
	if d.Released != "" {
		lines = append(lines, "released "+d.Released)
	}
	if m := d.Maintenance; m != nil {
		says := cmp.Or(m.Statement, "its repository does not say whether it is maintained")
		lines = append(lines, fmt.Sprintf("maintenance: %s (%s, read %s)", says, m.Source, m.LookedUp))
	}
	return lines
}
