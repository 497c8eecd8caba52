package machines

import (
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// GatedOn is the result of a gate on one machine.
type GatedOn struct {
	Name    string
	Gated   gate.Gated
	Options document.Options // options for the document of this result alone
}

var GateFormats = document.Question[[]GatedOn]{Name: "gates", Document: gates, JSON: jsonGates}.Formats()

func gatesAnswer(all []GatedOn) string {
	var found conditions.Groups[string, string]
	for _, x := range all {
		found.Add(gate.DecisionWords(x.Gated.Decision()), x.Name)
	}
	var parts []string
	for _, d := range []stats.Decision{stats.Failed, stats.NotPassed, stats.NotExcluded, stats.Passed} {
		words := gate.DecisionWords(d)
		on := strings.Join(found.Of[words], ", ")
		if len(found.Of[words]) == len(all) {
			on = together(len(all))
		}
		if on != "" {
			parts = append(parts, words+" on "+on)
		}
	}
	return strings.Join(parts, ". ") + "."
}

func gates(all []GatedOn, _ document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: gatesAnswer(all)}}
	for _, x := range all {
		d = append(d, document.Heading{Level: 1, Text: x.Name})
		d = append(d, deeper(gate.Gate(x.Gated, x.Options))...)
	}
	return d
}

// JSONGates is the JSON form of a gate on several machines.
type JSONGates struct {
	Version  int            `json:"version"` // version of the JSON form of a gate on one machine
	Answer   string         `json:"answer"`
	Passed   bool           `json:"passed"` // true if the candidate passed on all machines
	Machines []JSONGateOfIt `json:"machines"`
}

// JSONGateOfIt is the result of the gate on one machine.
type JSONGateOfIt struct {
	Name string `json:"name"`
	Gate any    `json:"gate"`
}

func jsonGates(all []GatedOn) any {
	out := JSONGates{Version: gate.GateVersion, Answer: gatesAnswer(all), Passed: true}
	for _, x := range all {
		out.Machines = append(out.Machines, JSONGateOfIt{x.Name, gate.JSONOf(x.Gated)})
		out.Passed = out.Passed && x.Gated.Decision() == stats.Passed
	}
	return out
}
