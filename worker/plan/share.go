package plan

import "slices"

// Share returns the clients of the mix that one of several processes has, counted from 0:
// those from first up to end, without it.
func (m *Mix) Share(process, processes int) (first, end int) {
	return m.Clients * process / processes, m.Clients * (process + 1) / processes
}

// MostShared returns how many clients the process with most of them has.
func (m *Mix) MostShared(processes int) int { return (m.Clients + processes - 1) / processes }

// Mutexes reports whether a mutex is held around the mix's operations or statements, or
// around some of them.
func (m *Mix) Mutexes() bool {
	return m.Mutex || slices.ContainsFunc(m.Operations, func(o Operation) bool {
		return o.Mutex || slices.ContainsFunc(o.Calls, func(c MixCall) bool { return c.Mutex })
	})
}
