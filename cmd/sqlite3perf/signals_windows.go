package main

import "os"

// interruptSignals end a run in good order.
var interruptSignals = []os.Signal{os.Interrupt}
