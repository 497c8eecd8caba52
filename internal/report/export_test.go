package report

// For tests.
var (
	Probability = probability
	Times       = times
	Interval    = interval
	Human       = human
	Each        = each
	Scaled      = scaled
)

var TimeToSettle = timeToSettle
