package workload_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

var update = flag.Bool("update", false, "rewrite the expectations at the top of testdata/bad/*.yaml")

// TestBad checks the problems that are reported for each kind of mistake. Every file begins with
// the problems that must be found in it, and says whether the JSON Schema finds a problem too.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				body := withoutHeader(data)
				n := strings.Count(header(t, file, body), "\n")
				data = append([]byte(header(t, file, append(bytes.Repeat([]byte("#\n"), n), body...))), body...)
				if err := os.WriteFile(file, data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want := string(data[:len(data)-len(withoutHeader(data))])
			if diff := cmp.Diff(want, header(t, file, data)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func withoutHeader(data []byte) []byte {
	for bytes.HasPrefix(data, []byte("# want ")) || bytes.HasPrefix(data, []byte("# schema ")) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data
}

func header(t *testing.T, file string, data []byte) string {
	_, err := workload.Parse(filepath.Base(file), data, os.DirFS("testdata"))
	var problems workload.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("error is %v, want problems", err)
	}
	var b strings.Builder
	for i, p := range problems {
		if p.Line < 1 || p.Column < 1 || p.File != filepath.Base(file) {
			t.Errorf("problem without a position: %+v", p)
		}
		if line := strings.Split(err.Error(), "\n")[i]; line != p.Error() {
			t.Errorf("line %q of the error, want %q", line, p.Error())
		}
		fmt.Fprintf(&b, "# want %d:%d: %s\n", p.Line, p.Column, p.Message)
	}
	verdict := "rejects it"
	if err := validate(t, data); err == nil {
		verdict = "accepts it"
	}
	fmt.Fprintf(&b, "# schema %s\n", verdict)
	return b.String()
}

var compiled *jsonschema.Schema

// validate checks a workload file against the published JSON Schema.
func validate(t *testing.T, data []byte) error {
	t.Helper()
	if compiled == nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(workload.Schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("workload.schema.json", doc); err != nil {
			t.Fatal(err)
		}
		if compiled, err = c.Compile("workload.schema.json"); err != nil {
			t.Fatal(err)
		}
	}
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil {
		return err
	}
	var decoded any
	if err := n.Decode(&decoded); err != nil { // Decode fails, for example, for a duplicate key, or for an alias that refers to itself
		return err
	}
	return compiled.Validate(plain(&n))
}

// plain converts YAML to the types of JSON. Times remain text.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0])
	case yaml.AliasNode:
		return plain(n.Alias)
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plain(c))
		}
		return list
	}
	if n.Tag == "!!timestamp" {
		return n.Value
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value
	}
	return v
}
