//go:build !linux || !amd64

package record

// Recorder records what a program does to files. It does nothing on this system.
type Recorder struct{}

// New returns [ErrUnsupported].
func New(Options) (*Recorder, error) { return nil, ErrUnsupported }

// Through returns its arguments.
func (*Recorder) Through(executable string, args []string) (string, []string) {
	return executable, args
}

// Run returns [ErrUnsupported].
func (*Recorder) Run() (*Recording, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Recorder) Close() {}

// Stage returns the exit status of a program that cannot be started.
func Stage([]string) int { return 125 }

// Available returns [ErrUnsupported].
func Available() error { return ErrUnsupported }
