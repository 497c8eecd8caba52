package sqinn

// Wrap is what the tests see of the adapter.
var Wrap = wrap
