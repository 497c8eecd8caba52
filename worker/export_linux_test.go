package worker

// Shares corrects user and system CPU time so that neither is negative. Their sum stays the
// same.
var Shares = shares

// LivingChildrenCPU returns the CPU time in nanoseconds that the living descendants of this
// process have used.
var LivingChildrenCPU = livingChildrenCPU
