package main

import "os"

// interruptSignals end a run in good order.
var interruptSignals = []os.Signal{os.Interrupt}

// outliveReaders does nothing: here a write to a reader who has gone away fails anyway.
func outliveReaders() {}
