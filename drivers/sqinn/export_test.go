package sqinn

// What the tests see of the adapter.
var (
	Statement = statement
	Wrap      = wrap
)
