package plan

// Bounds of a plan, that a worker keeps to as well. They keep a number from
// overflowing, and a plan from being one that no machine could finish.
const (
	MaxCount   = 1 << 40   // rows, executions, operations, milliseconds
	MaxAtOnce  = 1 << 24   // rows whose values are made before the clock starts
	MaxClients = 10_000    // and connections
	MaxBound   = 250_000   // parameters of one statement
	MaxWeight  = 1_000_000 // of an operation; and attempts at one
	MinRate    = 0.001     // operations per second
	MaxRate    = 1e9
)
