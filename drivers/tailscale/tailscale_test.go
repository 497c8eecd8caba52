package tailscale_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/tailscale"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, tailscale.New()) }
