package worker

// ServeUntil is Serve with what ends the process when the lab has gone.
var ServeUntil = serve
