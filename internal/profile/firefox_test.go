package profile_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type firefox struct {
	Meta struct {
		PreprocessedProfileVersion int
		StartTime                  int64
		Interval                   float64
		InitialVisibleThreads      []int
		Categories                 []struct{ Name, Color string }
	}
	Threads []struct {
		Name                       string
		IsMainThread               bool
		Samples, NativeAllocations struct {
			Length       int
			Stack        []int
			Time, Weight []float64
			WeightType   string
		}
	}
	Shared struct {
		StackTable struct {
			Length int
			Frame  []int
			Prefix []*int
		}
		FrameTable struct {
			Length                                            int
			Address, InlineDepth, Func, Category, Subcategory []int
			NativeSymbol, InnerWindowID, Line, Column         []*int
		}
		FuncTable struct {
			Length                           int
			Name, Resource                   []int
			IsJS, RelevantForJS              []bool
			Source, LineNumber, ColumnNumber []*int
		}
		ResourceTable struct {
			Length     int
			Name, Type []int
			Lib, Host  []*int
		}
		StringArray []string
	}
}

// stack returns the functions of a stack with their groups, the innermost first.
func (f *firefox) stack(at int) (functions []string) {
	for {
		frame := f.Shared.StackTable.Frame[at]
		name := f.Shared.StringArray[f.Shared.FuncTable.Name[f.Shared.FrameTable.Func[frame]]]
		functions = append(functions, name+": "+f.Meta.Categories[f.Shared.FrameTable.Category[frame]].Name)
		prefix := f.Shared.StackTable.Prefix[at]
		if prefix == nil {
			return functions
		}
		at = *prefix
	}
}

// sameLengths checks that all columns of a table have as many rows as its length says.
func sameLengths(t *testing.T, name string, table any) {
	t.Helper()
	v := reflect.ValueOf(table)
	length := int(v.FieldByName("Length").Int())
	for i := range v.NumField() {
		if c := v.Field(i); c.Kind() == reflect.Slice && c.Len() != length {
			t.Errorf("%s: %s has %d rows, want %d", name, v.Type().Field(i).Name, c.Len(), length)
		}
	}
}

// TestFirefox checks a profile for the Firefox Profiler. It must have a thread for each driver, and
// the profile's stacks and weights. Each index must be valid in the table to which it refers.
func TestFirefox(t *testing.T) {
	run := &result.Run{Started: time.UnixMilli(1e12), Profiles: &result.Profiles{Phase: "query"}}
	for i, name := range []string{"mattn", "modernc"} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "real", Driver: name, Info: driver.Info{Module: "example.com/lib"}})
		run.Profiles.Cases = append(run.Profiles.Cases, result.Profile{Case: i + 1, Status: result.OK, Perf: true, CPUNS: []int64{1e6, 2e6},
			Functions:   []result.Function{{Name: "main.main", Object: "/tmp/worker"}, {Name: "sqlite3_step", Object: "/tmp/worker"}, {Name: "do_syscall_64", Object: "[kernel.kallsyms]"}, {Name: "runtime.mallocgc"}},
			CPU:         []result.Stack{{Functions: []int{1, 0}, Samples: 2, Value: 2e6}, {Functions: []int{2, 1, 0}, Samples: 1, Value: 1e6}, {Functions: []int{}, Samples: 1, Value: 1e6}},
			Allocations: []result.Stack{{Functions: []int{3, 0}, Samples: 1, Value: 1 << 20}}})
	}
	run.Cases = append(run.Cases, result.Case{ID: 3, Driver: "failed"})
	p := profile.ProfileOf(run, document.Hints{})
	var b bytes.Buffer
	if err := profile.Formats.Write(&b, profile.FirefoxFormat, p, document.Options{}); err != nil {
		t.Fatal(err)
	}
	var f firefox
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if f.Meta.PreprocessedProfileVersion != 60 || f.Meta.StartTime != 1e12 || f.Meta.Interval <= 0 || len(f.Meta.InitialVisibleThreads) != 2 || len(f.Threads) != 2 {
		t.Errorf("%+v, %d threads", f.Meta, len(f.Threads))
	}
	if n := len(slices.DeleteFunc(slices.Clone(f.Meta.Categories), func(c struct{ Name, Color string }) bool { return c.Color != "grey" })); n != 1 || len(f.Meta.Categories) != len(stacks.Groups) {
		t.Errorf("categories %+v: want one in grey, and one for each group", f.Meta.Categories)
	}
	s := &f.Shared
	for name, table := range map[string]any{"stackTable": s.StackTable, "frameTable": s.FrameTable, "funcTable": s.FuncTable, "resourceTable": s.ResourceTable} {
		sameLengths(t, name, table)
	}
	within := func(what string, list []int, low, length int) {
		for i, at := range list {
			if at < low || at >= length {
				t.Errorf("%s[%d] is %d of %d", what, i, at, length)
			}
		}
	}
	within("frame of a stack", s.StackTable.Frame, 0, s.FrameTable.Length)
	within("function of a frame", s.FrameTable.Func, 0, s.FuncTable.Length)
	within("category of a frame", s.FrameTable.Category, 0, len(f.Meta.Categories))
	within("name of a function", s.FuncTable.Name, 0, len(s.StringArray))
	within("resource of a function", s.FuncTable.Resource, -1, s.ResourceTable.Length)
	within("name of a resource", s.ResourceTable.Name, 0, len(s.StringArray))
	for i, prefix := range s.StackTable.Prefix {
		if prefix != nil && *prefix >= i {
			t.Errorf("stack %d follows its prefix %d", i, *prefix)
		}
	}
	for i, thread := range f.Threads {
		sameLengths(t, thread.Name, thread.Samples)
		sameLengths(t, thread.Name, thread.NativeAllocations)
		within("stack of a sample", thread.Samples.Stack, 0, s.StackTable.Length)
		within("stack of an allocation", thread.NativeAllocations.Stack, 0, s.StackTable.Length)
		got := map[string]float64{}
		for j, at := range thread.Samples.Stack {
			got[f.stack(at)[0]] += thread.Samples.Weight[j]
		}
		want := map[string]float64{"sqlite3_step: SQLite": 1, "do_syscall_64: system": 0.5, "[unknown]: unknown": 0.5} // milliseconds in each of two trials
		if thread.Name != p.Drivers[i].Name || !thread.IsMainThread || thread.Samples.WeightType != "tracing-ms" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", thread.Name, got, want)
		}
		if total := p.Drivers[i].PerTrialNS() / 1e6; math.Abs(sum(thread.Samples.Weight)-total) > 1e-9 {
			t.Errorf("%s: %g ms, want %g", thread.Name, sum(thread.Samples.Weight), total)
		}
		if !slices.IsSorted(thread.Samples.Time) || thread.NativeAllocations.WeightType != "bytes" || !slices.Equal(thread.NativeAllocations.Weight, []float64{1 << 19}) {
			t.Errorf("%+v", thread)
		}
		if got := f.stack(thread.NativeAllocations.Stack[0]); !slices.Equal(got, []string{"runtime.mallocgc: garbage collection", "main.main: sqlite3perf"}) {
			t.Errorf("allocated by %v", got)
		}
	}
}

func sum(list []float64) (s float64) {
	for _, v := range list {
		s += v
	}
	return s
}
