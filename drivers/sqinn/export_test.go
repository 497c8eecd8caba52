package sqinn

// Wrap exports wrap for the tests.
var Wrap = wrap
