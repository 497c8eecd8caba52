package plan

// Bounds of the numbers in a plan. Both sqlite3perf itself and the workers check them, to prevent
// overflows and plans that no machine could finish.
const (
	MaxCount   = 1 << 40   // greatest number of rows, executions, operations or milliseconds
	MaxAtOnce  = 1 << 24   // greatest number of rows whose values are made before the clock starts
	MaxClients = 10_000    // greatest number of clients or connections
	MaxBound   = 250_000   // greatest number of parameters of one statement
	MaxWeight  = 1_000_000 // greatest weight of an operation, and greatest number of attempts at an operation
	MinRate    = 0.001     // least number of operations per second; MaxRate is the greatest
	MaxRate    = 1e9
)
