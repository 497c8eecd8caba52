//go:build !linux

package worker

func livingChildren() []int { return nil }

// threadCPU is not known on this platform. The CPU time that the clients of a mix use
// while their time is stopped is charged to the phase.
func threadCPU() (user, system int64) { return 0, 0 }

func livingChildrenCPU() (user, system int64) { return 0, 0 }

func highWaterMark(string) int64 { return 0 }
