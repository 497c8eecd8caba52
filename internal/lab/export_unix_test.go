//go:build unix

package lab

var OthersWrite = othersWrite
