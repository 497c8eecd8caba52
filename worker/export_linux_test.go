package worker

// Shares returns user and system CPU time with the same sum, but not negative.
var Shares = shares

// LivingChildrenCPU returns the CPU time in nanoseconds that the living descendants of this
// process have used.
var LivingChildrenCPU = livingChildrenCPU
