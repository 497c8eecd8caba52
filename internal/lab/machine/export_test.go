package machine

// Functions that tests call with test data.
var (
	MedianOf = medianOf
	Short    = short
	NewTable = newTable
	Work     = work

	StealWarning = stealWarning
)
