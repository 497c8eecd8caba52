package plan

// Bounds of a plan. Workers check them too. They prevent overflows, and plans that no machine
// could finish.
const (
	MaxCount   = 1 << 40   // numbers of rows, executions, operations, and milliseconds
	MaxAtOnce  = 1 << 24   // rows whose values are made before the clock starts
	MaxClients = 10_000    // clients, and connections
	MaxBound   = 250_000   // parameters of one statement
	MaxWeight  = 1_000_000 // the weight of an operation, and attempts at an operation
	MinRate    = 0.001     // operations per second
	MaxRate    = 1e9
)
