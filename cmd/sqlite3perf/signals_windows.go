package main

import "os"

// interruptSignals end a run in an orderly way.
var interruptSignals = []os.Signal{os.Interrupt}

// outliveReaders does nothing, because on Windows a write to a reader that has gone away
// fails anyway.
func outliveReaders() {}
