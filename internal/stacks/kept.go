package stacks

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Keep returns the part of a recording that is stored with a run. If there are too many
// frames, it shortens the stacks.
func (r *Recording) Keep() result.Profile {
	cpu, allocations := r.Stacks(), r.Allocations()
	depth := result.MaxStackDepth
	for depth > 1 && max(frames(cpu, depth), frames(allocations, depth)) > result.MaxStackFrames {
		depth /= 2
	}
	k := keeper{depth: depth}
	p := result.Profile{WallNS: r.WallNS, CPUNS: append([]int64{}, r.CPUNS...), CPU: k.keep(cpu), Allocations: k.keep(allocations)}
	p.Functions = append([]result.Function{}, k.functions...)
	if k.shortened {
		p.Shortened = depth
	}
	return p
}

func frames(list []Stack, depth int) (n int) {
	for _, s := range list {
		n += min(len(s.Frames), depth)
	}
	return n
}

type keeper struct {
	depth     int
	functions []result.Function
	places    distinct.Index[Frame] // the index of each frame in the field "functions"
	shortened bool
}

// keep returns stacks in the form in which a [result.Profile] has them. It adds up equal stacks, and
// leaves out stacks with negative numbers.
func (k *keeper) keep(list []Stack) []result.Stack {
	out := []result.Stack{}
	var at distinct.Index[string] // the index of each stack in "out"
	for _, s := range list {
		if s.Samples < 0 || s.Value < 0 {
			continue // a negative number means memory that was allocated before the phase
		}
		inner := s.Frames[:min(len(s.Frames), k.depth)]
		k.shortened = k.shortened || len(inner) < len(s.Frames)
		places := []int{}
		var key []byte
		for _, f := range inner {
			places = append(places, k.place(f))
			key = binary.AppendUvarint(key, uint64(places[len(places)-1]))
		}
		i := at.Of(string(key))
		if i == len(out) {
			out = append(out, result.Stack{Functions: places})
		}
		out[i].Samples += s.Samples
		out[i].Value += s.Value
	}
	return out
}

func (k *keeper) place(f Frame) int {
	i := k.places.Of(f)
	if i == len(k.functions) {
		k.functions = append(k.functions, result.Function{Name: start(f.Function), Object: start(f.Object)})
	}
	return i
}

func start(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), result.MaxFunctionName)], "")
}

// Stacks converts the stacks in the parameter "list", which belong to profile p, to stacks with the names of
// their functions.
func Stacks(p *result.Profile, list []result.Stack) []Stack {
	var out []Stack
	for _, s := range list {
		st := Stack{Samples: s.Samples, Value: s.Value, Frames: make([]Frame, len(s.Functions))}
		for i, place := range s.Functions {
			st.Frames[i] = Frame{Function: p.Functions[place].Name, Object: p.Functions[place].Object}
		}
		out = append(out, st)
	}
	return slices.Clip(out)
}
