package conformance

import (
	"embed"
	"strings"
)

//go:embed workloads
var workloads embed.FS

// yaml returns the text of the file workloads/NAME.yaml.
func yaml(name string) string {
	data, err := workloads.ReadFile("workloads/" + name + ".yaml")
	if err != nil {
		panic(err) // the file is missing from the source
	}
	return string(data)
}

var (
	simplest = yaml("simplest")
	filled   = yaml("filled")
	pieces   = yaml("pieces")
	queries  = yaml("queries")
	mixed    = yaml("mixed")
	changing = yaml("changing")

	// during is like the workload "mixed", but its mix ends after a fixed duration instead of after a number
	// of operations.
	during = strings.NewReplacer("name: mixed", "name: during", "count: 500", "duration: 100ms").Replace(mixed)
)

// inserting returns the workload "insert" with a transaction policy.
func inserting(policy string) string { return strings.Replace(yaml("insert"), "POLICY", policy, 1) }

var policies = []string{
	"transaction: one",
	"transaction: one, rows per statement: 7",
	"transaction: per set",
	"transaction: per statement, rows per statement: 50",
	"transaction: every 40 rows, rows per statement: 8",
	"transaction: per a",
	"transaction: per a, rows per statement: 5",
	"statement: ad hoc",
	"context: cancellable",
	"values: timed",
}
