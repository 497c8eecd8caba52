package stacks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Part is the share of a group, or of a function of a group, in the CPU time or in
// allocations.
type Part struct {
	Group    Group          `json:"group"`
	Function string         `json:"function,omitempty"` // "" for the entire group
	Samples  int64          `json:"samples"`
	Share    float64        `json:"share"` // share of all CPU time, or of all allocated bytes, 0 to 1
	Interval stats.Interval `json:"interval"`
	PerTrial float64        `json:"per_trial"` // nanoseconds of CPU time, or bytes
}

// Summary says where the worker of one driver spent its time in a phase.
type Summary struct {
	Samples   int64   `json:"samples"`
	Trials    int     `json:"trials"`
	CPUNS     int64   `json:"cpu_ns"`       // CPU time of all trials together, from the samples
	WallNS    int64   `json:"wall_ns"`      // time of all trials together, by the worker's clock
	TrialNS   []int64 `json:"trial_cpu_ns"` // CPU time of each trial, from the samples
	Groups    []Part  `json:"groups"`
	Functions []Part  `json:"functions"` // sorted by their own time, which does not include the functions that they call

	AllocatedBytes int64  `json:"allocated_bytes"` // bytes allocated in all trials together, estimated from samples
	AllocSamples   int64  `json:"alloc_samples"`   // objects allocated in all trials together, estimated from samples
	Allocations    []Part `json:"allocations"`     // parts of AllocatedBytes, by the innermost function outside the Go runtime
}

// Summarize returns the summary of a profile. Its parts are sorted, the largest first.
func Summarize(p *result.Profile, g Grouper) *Summary {
	list := Stacks(p, p.CPU)
	s := &Summary{Trials: len(p.CPUNS), WallNS: p.WallNS, TrialNS: append([]int64{}, p.CPUNS...), Samples: Samples(list)}
	groups, functions, allocations := map[Part]*Part{}, map[Part]*Part{}, map[Part]*Part{}
	for _, st := range list {
		s.CPUNS += st.Value
		group := g.Of(st.Frames)
		add(groups, Part{Group: group}, st)
		add(functions, Part{Group: group, Function: name(st.Frames)}, st)
	}
	s.Groups = parts(groups, s.Samples, float64(s.CPUNS), s.Trials)
	s.Functions = parts(functions, s.Samples, float64(s.CPUNS), s.Trials)
	for _, st := range Stacks(p, p.Allocations) {
		s.AllocatedBytes += st.Value
		s.AllocSamples += st.Samples
		frames := allocator(st.Frames)
		add(allocations, Part{Group: g.Of(frames), Function: name(frames)}, st)
	}
	s.Allocations = parts(allocations, s.AllocSamples, float64(s.AllocatedBytes), s.Trials)
	return s
}

func add(to map[Part]*Part, part Part, s Stack) {
	p := to[part]
	if p == nil {
		p = new(part)
		to[part] = p
	}
	p.Samples += s.Samples
	p.PerTrial += float64(s.Value)
}

func parts(m map[Part]*Part, samples int64, value float64, trials int) []Part {
	list := []Part{}
	for _, p := range m {
		if value > 0 {
			p.Share = p.PerTrial / value
		}
		p.Interval = stats.Proportion(p.Samples, samples)
		p.PerTrial /= float64(max(trials, 1))
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.PerTrial, a.PerTrial), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Function, b.Function))
	})
	return list
}

// allocator returns a stack without its innermost functions that belong to the Go runtime.
func allocator(frames []Frame) []Frame {
	i := slices.IndexFunc(frames, func(f Frame) bool {
		pkg, isGo := goPackage(f.Function)
		return !isGo || !below(pkg, "runtime") && !below(pkg, "internal/runtime")
	})
	return frames[max(i, 0):]
}

// name returns the name of the function to which a sample is attributed. For a sample in the kernel,
// name returns the system call or "page fault", which says more than the kernel's function.
func name(frames []Frame) string {
	if len(frames) == 0 {
		return "unknown"
	}
	if !strings.HasPrefix(frames[0].Object, "[kernel") {
		return frames[0].Function
	}
	for _, f := range frames {
		if !strings.HasPrefix(f.Object, "[kernel") {
			break
		}
		for _, prefix := range []string{"__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_", "ksys_"} {
			if call, ok := strings.CutPrefix(f.Function, prefix); ok {
				return "kernel: " + call
			}
		}
		if strings.Contains(f.Function, "page_fault") {
			return "kernel: page fault"
		}
	}
	return "kernel: " + frames[0].Function
}

// Ratio returns the average CPU time of the second driver's trials, divided by the average of the
// first driver's trials, with its 95 % interval. Both summaries must have samples.
func Ratio(first, second *Summary) (float64, stats.Interval) {
	return stats.SampledRatio(first.sampled(), second.sampled())
}

func (s *Summary) sampled() stats.Sampled {
	x := stats.Sampled{Samples: s.Samples}
	for _, ns := range s.TrialNS {
		x.Values = append(x.Values, float64(ns))
	}
	return x
}

// Change compares the CPU time of a group between the workers of two drivers.
type Change struct {
	Group      Group   `json:"group"`
	FirstNS    float64 `json:"first_ns"` // average of the first driver's trials
	SecondNS   float64 `json:"second_ns"`
	Difference float64 `json:"difference_ns"` // SecondNS minus FirstNS
	Margin     float64 `json:"margin_ns"`     // half the width of the difference's interval; with a probability of 95 %, the intervals of all groups contain the true differences
}

// Compare compares the CPU times of two drivers, group by group. The greatest difference comes
// first.
func Compare(first, second *Summary) []Change {
	var list []Change
	groups := slices.DeleteFunc(slices.Clone(Groups), func(g Group) bool { return first.of(g).Samples == 0 && second.of(g).Samples == 0 })
	for _, g := range groups {
		a, b := first.of(g), second.of(g)
		c := Change{Group: g, FirstNS: a.PerTrial, SecondNS: b.PerTrial}
		c.Difference, c.Margin = stats.PartsDiffer(first.sampled(), a.Samples, second.sampled(), b.Samples, len(groups))
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Compare(max(b.Difference, -b.Difference), max(a.Difference, -a.Difference))
	})
	return list
}

func (s *Summary) of(g Group) Part {
	if i := slices.IndexFunc(s.Groups, func(p Part) bool { return p.Group == g }); i >= 0 {
		return s.Groups[i]
	}
	return Part{Group: g}
}

// PerTrialNS returns the average CPU time of a trial's phase, in nanoseconds.
func (s *Summary) PerTrialNS() float64 { return float64(s.CPUNS) / float64(max(s.Trials, 1)) }

// Layers returns a shorter stack for each stack of the list. It begins with the name of the stack's group, as
// the outermost frame. Then come the innermost functions of the given stack, as far as they belong to the
// group. Functions of SQLite have the names that they have in C, so the stacks of two drivers can be compared.
func Layers(list []Stack, g Grouper) []Stack {
	var out []Stack
	for _, s := range list {
		group := g.Of(s.Frames)
		frames := []Frame{{Function: string(group)}}
		for i := range s.Frames {
			if g.Of(s.Frames[i:]) != group {
				break
			}
			frames = slices.Insert(frames, 1, Frame{Function: canonical(s.Frames[i].Function)})
		}
		out = append(out, Stack{frames, s.Samples, s.Value})
	}
	return out
}

// canonical returns the C name of a function of SQLite that was translated to Go.
func canonical(name string) string {
	short, ok := strings.CutPrefix(name, "modernc.org/sqlite/lib.")
	if !ok {
		return name
	}
	short = strings.TrimLeft(short, "_")
	if strings.HasPrefix(short, "Xsqlite3") {
		short = short[1:]
	}
	return short
}
