package plan

import "slices"

// Share returns which clients of the mix a process runs: first ≤ client < end. Clients and
// processes are counted from 0.
func (m *Mix) Share(process, processes int) (first, end int) {
	return m.Clients * process / processes, m.Clients * (process + 1) / processes
}

// MostShared returns how many clients the process with the most clients runs.
func (m *Mix) MostShared(processes int) int { return (m.Clients + processes - 1) / processes }

// Mutexes reports whether a mutex is held around any operation or statement of the mix.
func (m *Mix) Mutexes() bool {
	return m.Mutex || slices.ContainsFunc(m.Operations, func(o Operation) bool {
		return o.Mutex || slices.ContainsFunc(o.Calls, func(c MixCall) bool { return c.Mutex })
	})
}
