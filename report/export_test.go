package report

// For tests.
var (
	Probability = probability
	Times       = times
	Interval    = interval
)
