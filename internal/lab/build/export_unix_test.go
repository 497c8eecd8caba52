//go:build unix

package build

var OthersWrite = othersWrite
