package worker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

const protocolDoc = "../docs/worker-protocol.md"

func document(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(protocolDoc)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// blocks returns the code blocks of a Markdown document that are in the given language.
func blocks(doc, language string) []string {
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(doc, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestDocumentedMessages checks that every line of the JSON examples in docs/worker-protocol.md
// matches the schema of messages.
func TestDocumentedMessages(t *testing.T) {
	s := schemaOf(t, "request")
	r := schemaOf(t, "response")
	seen := 0
	for _, block := range blocks(document(t), "json") {
		for line := range strings.Lines(block) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err != nil {
				t.Fatal(err)
			}
			if s.Validate(v) != nil {
				if err := r.Validate(v); err != nil {
					t.Errorf("%.200s: %v", line, err)
				}
			}
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("%d messages in the document", seen)
	}
}

// TestDocumentedChecksum checks that the examples of checksums in docs/worker-protocol.md equal the
// checksums that package plan computes.
func TestDocumentedChecksum(t *testing.T) {
	doc := document(t)
	list := blocks(doc, "hex")
	if len(list) != 1 {
		t.Fatalf("%d blocks of hex", len(list))
	}
	raw, err := hex.DecodeString(strings.Join(strings.Fields(list[0]), ""))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	types := []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text, Nullable: true}, {Type: driver.Time}, {Type: driver.Real}, {Type: driver.Blob}, {Type: driver.Bool}}
	negativeZero := 0.0
	negativeZero = -negativeZero
	var h plan.Hash
	rows := []driver.Row{
		{{Int: 1}, {Text: "é"}, {Time: time.Date(2023, 10, 1, 10, 0, 0, 0, time.UTC)}, {Real: 0.5}, {Blob: []byte{0, 255}}, {Bool: true}},
		{{Int: -2}, {Null: true}, {Time: time.Unix(0, 0)}, {Real: negativeZero}, {Blob: []byte{}}, {Bool: false}},
	}
	h.Row(rows[0], types)
	h.Row(rows[1], types)
	if got := hex.EncodeToString(sum[:]); got != h.Sum() {
		t.Errorf("the bytes have the checksum %s, the rows %s", got, h.Sum())
	}
	var unordered plan.RowSum
	unordered.Row(rows[0], types)
	unordered.Row(rows[1], types)
	var none plan.Hash
	for _, want := range []string{"and the checksum\n`" + h.Sum(), "SHA-256 of nothing,\n`" + none.Sum(), "(#checksums) have the checksum\n`" + unordered.Sum()} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %s", want)
		}
	}
}

// TestDocumentedNames checks that docs/worker-protocol.md has every setting with its values, every
// code of a reason, and no other code.
func TestDocumentedNames(t *testing.T) {
	doc := document(t)
	for _, d := range driver.Vocabulary {
		if !strings.Contains(doc, "| `"+d.Name+"` |") {
			t.Errorf("the document lacks the setting %s", d.Name)
		}
		for _, v := range d.Values {
			if !strings.Contains(doc, "`"+v+"`") {
				t.Errorf("the document lacks the value %s of %s", v, d.Name)
			}
		}
	}
	source, err := os.ReadFile("protocol/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tCode\w+ += "([a-z-]+)"`).FindAllSubmatch(source, -1) {
		codes[string(m[1])] = true
	}
	_, reasons, _ := strings.Cut(doc, "\n## Reasons\n")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(reasons, -1) {
		for _, c := range strings.Split(row[1], ", ") {
			listed[strings.Trim(c, "`")] = true
		}
	}
	if diff := cmp.Diff(codes, listed); diff != "" || !codes[protocol.CodeDiskFull] {
		t.Errorf("codes (-constants +document):\n%s", diff)
	}
}
