package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// WhySame explains why a baseline and a candidate differ although they are the same version of a
// driver. The parameter "version" is the version of this sqlite3perf. The result "why" says what
// may have changed: the machine, and the parts of the build that differ. The result "same" is true
// if both are the same build, so that only the machine may have changed.
func WhySame(base *result.Run, before, now *result.Case, driver, version string) (why string, same bool) {
	var other []string
	for name, v := range now.Build {
		if before.Build[name] != v {
			other = append(other, name)
		}
	}
	slices.Sort(other)
	if base.Version != version {
		other = append(other, "sqlite3perf")
	}
	if other == nil {
		return fmt.Sprintf("baseline and candidate are the same build, %s, so the machine must have changed", driver), true
	}
	return fmt.Sprintf("baseline and candidate are both %s, so what has changed is the machine or what it is built with (%s)", driver, strings.Join(other, ", ")), false
}
