//go:build !linux

package worker

func livingChildren() []int { return nil }

func livingChildrenCPU() (user, system int64) { return 0, 0 }
