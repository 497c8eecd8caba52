package driver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Limits records which of a driver's declared limits have been proven by checks. A check proves a
// declared limit by failing. It is an error if the check of a declared limit succeeds, or if no
// check proves a declared limit.
type Limits struct {
	declared map[string]string

	mu     sync.Mutex // protects the field "proven", because checks may run at the same time
	proven map[string]bool
}

// NewLimits returns the limits that a driver declares. No check has proven any of them yet.
func NewLimits(i Info) *Limits {
	return &Limits{declared: i.Limits, proven: map[string]bool{}}
}

// covering returns the declared limit for a check's key, or "" if there is none. The limit "name"
// covers each key "name=value".
func (l *Limits) covering(key string) string {
	name, _, _ := strings.Cut(key, "=")
	for _, k := range []string{key, name} {
		if _, ok := l.declared[k]; ok && k != "" {
			return k
		}
	}
	return ""
}

// Judge returns an error if the result of a check contradicts the limits that the driver declares.
// The parameter "key" is the key of the check, and "found" is the error of the check, or nil.
// Judge's error says which limit to declare or to remove, or that the driver cannot declare a limit.
func (l *Limits) Judge(key string, found error) error {
	k := l.covering(key)
	switch {
	case k == "" && found == nil:
		return nil
	case k == "" && key == "":
		return fmt.Errorf("%w (every driver must do this: it cannot be declared as a limit)", found)
	case k == "":
		return fmt.Errorf("%w (if the library cannot do it, declare %q with the reason under limits in driver.json)", found, key)
	case found != nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.proven[k] = true
		return nil
	case k == key:
		return fmt.Errorf("limit %q is declared, but the driver does it: remove it from driver.json", k)
	}
	return nil // the limit covers all values of the setting, and this value may work because it is the default
}

// Unproven returns an error that names each declared limit that no check has proven, or nil.
func (l *Limits) Unproven() (err error) {
	for _, k := range slices.Sorted(maps.Keys(l.declared)) {
		if !l.proven[k] {
			err = errors.Join(err, fmt.Errorf("limit %q is declared, but no check shows it: remove it from driver.json", k))
		}
	}
	return err
}
