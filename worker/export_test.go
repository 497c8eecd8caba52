package worker

// ServeUntil is Serve with what ends the process when the lab has gone.
var ServeUntil = serve

// CheckRequest finds what in a request cannot be run.
var CheckRequest = checkRequest
