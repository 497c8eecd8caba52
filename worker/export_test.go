package worker

// ServeUntil is Serve with a function that ends the process when the lab has gone.
var ServeUntil = serve

// OursLimit is how long a check of the worker's own may take.
var OursLimit = &oursLimit
