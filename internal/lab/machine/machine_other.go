//go:build !linux && !darwin && !windows

package machine

import "github.com/sqlite3perf/sqlite3perf/internal/result"

func platform(*result.Machine, string) {}
