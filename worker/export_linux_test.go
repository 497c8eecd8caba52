package worker

// Shares keeps a share of CPU time from being below zero.
var Shares = shares

// LivingChildrenCPU is what the processes below this one have used.
func LivingChildrenCPU() (user, system int64) {
	hasChildren = true
	defer func() { hasChildren = false }()
	return livingChildrenCPU()
}
