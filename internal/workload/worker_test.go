package workload_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestLoaderKeepsToBounds checks that the loader applies the worker's bounds, so that
// the worker can run whatever the loader accepts. It puts numbers at and beyond the bounds
// in each of a workload's places for numbers.
func TestLoaderKeepsToBounds(t *testing.T) {
	const file = `
name: bounds
settings: {pool_size: POOL}
parameters: {n: N}
rows:
  users: {count: COUNT, columns: {id: serial, name: {text: 3}}}
  cards: {per: users, count: PER, columns: {id: serial, user: users.id}}
phases:
  - {name: a, insert: [users, cards], rows per statement: GROUP, transaction: TRANSACTION}
  - {name: b, query: SELECT id FROM users, columns: int, repeat: REPEAT, clients: CLIENTS, expect: {rows: ROWS}}
  - {name: c, query: "SELECT :id", columns: int, for each: cards, repeat: REPEAT}
  - {name: d, mix: [{name: o, sql: select 1, weight: WEIGHT}], LASTS, clients: CONNECTED, gomaxprocs: PROCS, retry: {attempts: ATTEMPTS, backoff: 1h}}
  - {name: e, http: SELECT 1, columns: {a: int}, LASTS, clients: CONNECTED}
`
	numbers := []string{"1", "100", "10000", "10001", "83333", "125000", "125001", "250000", "250001", "1000000", "1000001",
		"16777216", "16777217", "1000000000", "1099511627776", "1099511627777", "1000000000000000", "9000000000000000000"}
	usual := []string{"POOL", "10", "N", "1", "COUNT", "5", "PER", "2", "GROUP", "1", "TRANSACTION", "one", "REPEAT", "1", "CLIENTS", "2",
		"ROWS", "5", "WEIGHT", "1", "LASTS", "count: 5", "CONNECTED", "2", "PROCS", "1", "ATTEMPTS", "2"}
	let, refused := 0, 0
	try := func(place, number string) {
		replace := slices.Clone(usual)
		replace[slices.Index(usual, place)+1] = number
		w, err := workload.Parse("bounds.yaml", []byte(strings.NewReplacer(replace...).Replace(file)), nil)
		if err != nil {
			refused++
			return
		}
		let++
		pl, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Errorf("%s %s: %v", place, number, err)
			return
		}
		req := protocol.Request{Type: protocol.TypeServe, Settings: w.Settings, Plan: pl}
		if err := req.Check(); err != nil {
			t.Errorf("%s %s: the loader accepts it, but the worker refuses it: %v", place, number, err)
		}
	}
	for i := 0; i < len(usual); i += 2 {
		for _, n := range numbers {
			switch place := usual[i]; place {
			case "TRANSACTION":
				try(place, "every "+n+" rows")
				try(place, "per users")
			case "LASTS":
				try(place, "count: "+n)
				try(place, "duration: "+n+"ms")
				try(place, "count: 5, rate: "+n)
				try(place, "duration: $n s, rate: 0.001")
			default:
				try(place, n)
			}
		}
	}
	if let < 100 || refused < 80 {
		t.Errorf("%d accepted, %d refused: too few for a useful test", let, refused)
	}
}
