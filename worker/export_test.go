package worker

// ServeUntil is Serve with a function that is called if the input ends before the trial has ended.
var ServeUntil = serve

// OursLimit points to the time limit of the worker's own checks.
var OursLimit = &oursLimit
