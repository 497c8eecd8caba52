package worker

// Shares prevents a share of CPU time from being negative.
var Shares = shares

// LivingChildrenCPU returns the CPU time that this process's descendants have used.
var LivingChildrenCPU = livingChildrenCPU
