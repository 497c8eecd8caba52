package report

// For tests.
var (
	Probability = probability
	Interval    = interval
)
