package tune

import (
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Spelled says how to give a driver certain settings.
type Spelled struct {
	Settings driver.Settings `json:"settings"`
	Call     string          `json:"call,omitempty"` // function that opens a database

	// EachConnection says where users of the driver run statements on each new connection.
	EachConnection string `json:"each_connection,omitempty"`

	// Spelling is a data source name with the settings. It has been tested: a database was opened
	// with it, and the settings were read back. It is nil if the driver takes no data source name.
	Spelling *dsn.Spelling `json:"spelling,omitempty"`

	// Calls describes how to set the settings that no data source name can express. If Spelling is nil,
	// these are all settings.
	Calls []string `json:"calls,omitempty"`
}

// Spell says how to give settings to a driver. The parameter "told" says how the driver's library treats
// a data source name with these settings. It is nil if the driver takes no data source name.
func Spell(info driver.Info, set driver.Settings, told *dsn.Told) Spelled {
	_, rest := dsn.Of("", set)
	s := Spelled{Settings: set}
	if told != nil {
		s.Call, s.EachConnection, s.Spelling = told.Call, told.EachConnection, told.Spelling
	}
	if s.Spelling == nil {
		for _, p := range set.Pragmas() {
			s.Calls = append(s.Calls, p+" on each new connection")
		}
		if v := set["txlock"]; v != "" {
			s.Calls = append(s.Calls, "begin transactions that write with "+set.Begin())
		}
	}
	if n := rest["pool_size"]; n != "" {
		call := "open at most " + n + " connections"
		if info.Interface == driver.DatabaseSQL {
			call = "db.SetMaxOpenConns(" + n + ")"
		}
		s.Calls = append(s.Calls, call)
	}
	if n := rest["pool_readers"]; n != "" {
		s.Calls = append(s.Calls, "a second pool of "+n+" connections for what only reads")
	}
	return s
}

// String describes how to give the settings to the driver.
func (s *Spelled) String() string {
	var list []string
	if x := s.Spelling; x != nil {
		name := x.DSN
		if s.Call != "" {
			name = s.Call + " with " + name
		}
		list = append([]string{name}, x.Words(s.EachConnection)...)
	}
	return document.Line(strings.Join(append(list, s.Calls...), "; "))
}

// spelled describes how to give settings to the driver. It returns "" if that is unknown.
func (t Tuning) spelled(set driver.Settings) string {
	i := slices.IndexFunc(t.Spelled, func(s Spelled) bool { return maps.Equal(s.Settings, set) })
	if i < 0 {
		return ""
	}
	return t.Spelled[i].String()
}
