//go:build !linux

package worker

func livingChildren() []int { return nil }

// threadCPU returns 0, because this platform does not report the CPU time of a thread. So the CPU
// time of a mix includes the generation of parameters.
func threadCPU() (user, system int64) { return 0, 0 }

func livingChildrenCPU() (user, system int64) { return 0, 0 }

func highWaterMark(string) int64 { return 0 }
