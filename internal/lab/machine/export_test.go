package machine

// Parts that are tested on data.
var (
	MedianOf = medianOf
	Short    = short
	NewTable = newTable
	Work     = work

	StealWarning = stealWarning
)
