package worker

// ServeUntil is Serve with a function that is called when the lab has gone.
var ServeUntil = serve

// OursLimit is how long one of the worker's own checks may take.
var OursLimit = &oursLimit
