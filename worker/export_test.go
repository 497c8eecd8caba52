package worker

// ServeUntil is Serve with a function that is called when the lab has gone.
var ServeUntil = serve

// OursLimit points to the time limit of the worker's own checks.
var OursLimit = &oursLimit
