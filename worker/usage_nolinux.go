//go:build !linux

package worker

func livingChildren() []int { return nil }

// threadCPU cannot be told here: what clients of a mix do while their time
// stands still is charged to the phase.
func threadCPU() (user, system int64) { return 0, 0 }

func livingChildrenCPU() (user, system int64) { return 0, 0 }
