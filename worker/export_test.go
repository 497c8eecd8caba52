package worker

// ServeUntil is Serve with a function that ends the process when the lab has gone.
var ServeUntil = serve
