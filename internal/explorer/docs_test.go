package explorer

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedRequests sends each request of docs/explorer.md. The answer must have every key of
// the example in the document. Texts and numbers may differ.
func TestDocumentedRequests(t *testing.T) {
	text, err := os.ReadFile("../../docs/explorer.md")
	if err != nil {
		t.Fatal(err)
	}
	server := serveRuns(t, aRun(1, 1), aRun(2, 2))
	n := 0
	for _, part := range strings.Split(string(text), "```http\nGET ")[1:] {
		path, rest, _ := strings.Cut(part, "\n")
		_, rest, ok := strings.Cut(rest, "```json\n")
		example, _, closed := strings.Cut(rest, "\n```")
		var want, got any
		if err := json.Unmarshal([]byte(example), &want); !ok || !closed || err != nil {
			t.Errorf("%s: its example is not JSON: %v", path, err)
			continue
		}
		_, _, body := request(t, server, "GET", path, "")
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Errorf("%s: %v: %s", path, err, body)
			continue
		}
		for _, lack := range lacks(want, got, "") {
			t.Errorf("%s: the answer's %s: %.300s", path, lack, body)
		}
		n++
	}
	if n < 6 {
		t.Errorf("%d examples", n)
	}
}

// lacks lists the keys that an example has and an answer does not. It compares only the first
// elements of lists.
func lacks(want, got any, at string) []string {
	if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
		return []string{fmt.Sprintf("%s is a %T, in the document a %T", at, got, want)}
	}
	var list []string
	switch w := want.(type) {
	case map[string]any:
		for name, v := range w {
			list = append(list, lacks(v, got.(map[string]any)[name], at+"."+name)...)
		}
	case []any:
		g := got.([]any)
		if len(w) > 0 && len(g) == 0 {
			return []string{at + " is empty"}
		}
		if len(w) > 0 {
			list = lacks(w[0], g[0], at+"[0]")
		}
	}
	return list
}
