package worker

// Shares keeps a share of CPU time from being below zero.
var Shares = shares

// LivingChildrenCPU is what the processes below this one have used.
var LivingChildrenCPU = livingChildrenCPU
