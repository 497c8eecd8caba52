// Package worker runs one trial of one driver: it proves the settings, runs the
// phases, times only the driver, and verifies the answers. An executable with
// exactly one driver in it calls [Main]; the lab speaks to it by the worker
// protocol. The package repeats nothing and judges nothing.
package worker
