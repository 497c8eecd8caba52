package plan

// Bounds of a plan, which a worker checks as well. They prevent numbers from
// overflowing, and plans that no machine could finish.
const (
	MaxCount   = 1 << 40   // rows, executions, operations, milliseconds
	MaxAtOnce  = 1 << 24   // rows whose values are made before the clock starts
	MaxClients = 10_000    // also connections
	MaxBound   = 250_000   // parameters of one statement
	MaxWeight  = 1_000_000 // of an operation; also attempts at one
	MinRate    = 0.001     // operations per second
	MaxRate    = 1e9
)
