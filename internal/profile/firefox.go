package profile

import (
	"cmp"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
)

// FirefoxFormat is the name of the format that the Firefox Profiler (https://profiler.firefox.com) opens.
// The Firefox Profiler calls this format "processed profile".
const FirefoxFormat = "firefox"

// firefoxVersion is the version of the processed profile. The Firefox Profiler upgrades older versions
// when it opens a file.
const firefoxVersion = 60

// firefoxColors are the Firefox Profiler's colors of the groups of functions. For the Firefox
// Profiler, the grey group is the default.
var firefoxColors = map[stacks.Group]string{
	stacks.SQLite: "blue", stacks.InC: "blue", stacks.CLibrary: "lightblue", stacks.Driver: "green", stacks.DatabaseSQL: "yellow", stacks.Crossing: "orange",
	stacks.Collection: "red", stacks.Runtime: "brown", stacks.System: "magenta", stacks.Ours: "darkgrey", stacks.Unknown: "grey",
}

// columns is a table as the Firefox Profiler reads it. Each value, except the length, is a list with
// one element for each row.
type columns map[string]any

// Rows of tables. Each field is the number of a row of another table, or of a group in [stacks.Groups].
type (
	firefoxFunc  struct{ name, resource int } // the field "resource" is -1 if the object file is not known
	firefoxFrame struct{ function, category int }
	firefoxStack struct{ prefix, frame int } // the field "prefix" is -1 for an outermost function
)

// firefoxSamples is a table of samples or allocations.
type firefoxSamples struct {
	Length     int       `json:"length"`
	Stack      []int     `json:"stack"`
	Time       []float64 `json:"time"` // when each row begins, in milliseconds
	Weight     []float64 `json:"weight"`
	WeightType string    `json:"weightType"` // "tracing-ms" or "bytes"
}

// firefoxTables are the tables that all threads share. The index of a key is the number of its row.
type firefoxTables struct {
	strings   distinct.Index[string]
	resources distinct.Index[int] // names of object files
	funcs     distinct.Index[firefoxFunc]
	frames    distinct.Index[firefoxFrame]
	stacks    distinct.Index[firefoxStack]
}

// stack returns the row of a stack. It adds all functions of the stack to the tables.
func (t *firefoxTables) stack(s stacks.Stack, g stacks.Grouper) int {
	at := -1
	for i, f := range slices.Backward(s.Frames) {
		resource := -1
		if f.Object != "" {
			resource = t.resources.Of(t.strings.Of(path.Base(f.Object)))
		}
		function := t.funcs.Of(firefoxFunc{t.strings.Of(f.Function), resource})
		category := slices.Index(stacks.Groups, g.Of(s.Frames[i:]))
		at = t.stacks.Of(firefoxStack{at, t.frames.Of(firefoxFrame{function, category})})
	}
	return at
}

func (t *firefoxTables) shared() columns {
	funcs, frames, resources := t.funcs.Keys, t.frames.Keys, t.resources.Keys
	ofFuncs, ofFrames := make([]*int, len(funcs)), make([]*int, len(frames)) // columns that have only nulls
	return columns{
		"stackTable": columns{"length": len(t.stacks.Keys),
			"frame": document.Map(t.stacks.Keys, func(s firefoxStack) int { return s.frame }),
			"prefix": document.Map(t.stacks.Keys, func(s firefoxStack) *int {
				if s.prefix < 0 {
					return nil
				}
				return &s.prefix
			})},
		"frameTable": columns{"length": len(frames), "address": document.Map(frames, func(firefoxFrame) int { return -1 }), "inlineDepth": make([]int, len(frames)),
			"category": document.Map(frames, func(f firefoxFrame) int { return f.category }), "subcategory": make([]int, len(frames)),
			"func":         document.Map(frames, func(f firefoxFrame) int { return f.function }),
			"nativeSymbol": ofFrames, "innerWindowID": ofFrames, "line": ofFrames, "column": ofFrames},
		"funcTable": columns{"length": len(funcs), "name": document.Map(funcs, func(f firefoxFunc) int { return f.name }),
			"isJS": make([]bool, len(funcs)), "relevantForJS": make([]bool, len(funcs)),
			"resource": document.Map(funcs, func(f firefoxFunc) int { return f.resource }),
			"source":   ofFuncs, "lineNumber": ofFuncs, "columnNumber": ofFuncs},
		"resourceTable": columns{"length": len(resources), "name": append([]int{}, resources...),
			"type": document.Map(resources, func(int) int { return 1 }), // 1 means a library
			"lib":  make([]*int, len(resources)), "host": make([]*int, len(resources))},
		"nativeSymbols": columns{"length": 0, "libIndex": []int{}, "address": []int{}, "name": []int{}, "functionSize": []int{}},
		"sources":       columns{"length": 0, "id": []int{}, "filename": []int{}},
		"stringArray":   t.strings.Keys,
	}
}

// outermostFirst compares the functions of two stacks, beginning with the outermost ones.
func outermostFirst(a, b stacks.Stack) int {
	m, n := len(a.Frames), len(b.Frames)
	for i := 1; i <= min(m, n); i++ {
		if order := strings.Compare(a.Frames[m-i].Function, b.Frames[n-i].Function); order != 0 {
			return order
		}
	}
	return cmp.Compare(m, n)
}

// samples returns the table of the samples of one driver, with a row for each stack. A row's weight
// is the stack's value per trial, multiplied by the parameter "unit". Samples have no times. So the
// rows are sorted by their functions, and each row begins when the previous one ends. A chart of
// the rows over time then looks like a flame graph. The result "end" is the time at which the last
// row ends.
func (t *firefoxTables) samples(side FlameSide, list []stacks.Stack, weightType string, unit float64) (out firefoxSamples, end float64) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, outermostFirst)
	out = firefoxSamples{len(list), []int{}, []float64{}, []float64{}, weightType}
	for _, s := range list {
		if len(s.Frames) == 0 {
			s.Frames = []stacks.Frame{{Function: "[unknown]"}}
		}
		w := side.perTrial(s) * unit
		out.Stack, out.Time, out.Weight = append(out.Stack, t.stack(s, side.Grouper)), append(out.Time, end), append(out.Weight, w)
		end += w
	}
	return out, end
}

// firefoxOf returns a profile with a thread for each driver. Weights are milliseconds of CPU time, and
// bytes allocated, of one trial.
func firefoxOf(p *Profiled) columns {
	tables, threads, visible := &firefoxTables{}, []columns{}, []int{}
	interval := 1.0
	for i, side := range p.Flames {
		samples, end := tables.samples(side, side.Stacks, "tracing-ms", 1e-6)
		if samples.Length > 0 {
			interval = min(interval, samples.Weight[samples.Length-1])
		}
		allocations, all := tables.samples(side, side.Allocations, "bytes", 1)
		for j := range allocations.Time { // scale the times, so that allocations end when the samples end
			allocations.Time[j] *= end / max(all, 1)
		}
		threads = append(threads, columns{"name": side.Name, "processName": side.Name, "processType": "default", "isMainThread": true, "pid": side.Name, "tid": i,
			"processStartupTime": 0, "processShutdownTime": nil, "registerTime": 0, "unregisterTime": nil, "pausedRanges": []int{}, "samples": samples, "nativeAllocations": allocations,
			"markers": columns{"length": 0, "data": []int{}, "name": []int{}, "startTime": []int{}, "endTime": []int{}, "phase": []int{}, "category": []int{}}})
		visible = append(visible, i)
	}
	alone := *p
	alone.Files = nil // don't list the files, because they are in the same directory as this file
	facts := document.Map(profileFacts(&alone), func(it document.Item) columns {
		return columns{"label": it.Label, "format": "string", "value": it.Text}
	})
	return columns{
		"meta": columns{"product": "sqlite3perf: CPU time per trial of " + p.Phase + " of " + p.Workload, "preprocessedProfileVersion": firefoxVersion, "version": 24,
			"interval": interval, "startTime": p.Started.UnixMilli(), "processType": 0, "stackwalk": 1, "debug": false, "symbolicated": true,
			"usesOnlyOneStackType": true, "sourceCodeIsNotOnSearchfox": true, "markerSchema": []int{},
			"keepProfileThreadOrder": true, "initialVisibleThreads": visible, "initialSelectedThreads": visible[:min(len(visible), 1)],
			"categories": document.Map(stacks.Groups, func(g stacks.Group) columns {
				return columns{"name": g, "color": firefoxColors[g], "subcategories": []string{"Other"}}
			}),
			"extra": []columns{{"label": "Profile", "entries": facts}}},
		"libs": []int{}, "threads": threads, "shared": tables.shared(),
	}
}

func writeFirefox(w io.Writer, p *Profiled, _ document.Options) error {
	return json.NewEncoder(w).Encode(firefoxOf(p))
}
