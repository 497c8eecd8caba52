package workload

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// WordsOf returns a text that contains all SQL and all types of a workload, in lower case. The
// parameter "source" is the text of the workload file, and "includes" has the SQL files that it
// names. The result "ok" is false if the text is malformed, or if the workload also uses a database
// or a recording, whose SQL is not known.
func WordsOf(source string, includes []string) (text string, ok bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(source), &doc); err != nil || doc.Kind == 0 {
		return "", false
	}
	all, ok := slices.Clone(includes), true
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			all = append(all, n.Value)
			ok = ok && n.Value != "database" && n.Value != "replay"
		}
		for _, c := range n.Content {
			visit(c)
		}
	}
	visit(&doc)
	return strings.ToLower(strings.Join(all, "\n")), ok
}
