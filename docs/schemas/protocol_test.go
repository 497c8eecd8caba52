package schemas

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// message lists the fields that some types of requests or responses have. A field with an exclamation
// mark is required.
type message struct {
	types, fields string
	also          string // JSON to add to the schemas of these messages
}

var requests = []message{
	{"describe", "protocol! seed", ""},
	{"trial", "protocol! seed! path! settings plan! load loaded process types_known brief alternate slices repeats environment profile", ""},
	{"serve", "protocol! seed! path! settings plan! load loaded types_known brief alternate slices repeats environment profile listen", ""},
	{"proceed begin stop", "protocol! seed", ""},
	{"job", "protocol! seed! path! settings job! environment", ""},
}

var responses = []message{
	{"info", "protocol! info! proof", ""},
	{"ready", "protocol! proof!", `{"allOf": [{"properties": {"proof": {"properties": {"connections": {"minItems": 1}}}}}]}`},
	{"settings", "phase connections!", ""},
	{"phase begun prepared shared", "phase!", ""},
	{"listening", "phase! address!", ""},
	{"sample served", "sample!", ""},
	{"inserted", "phase! tables!", `{"allOf": [{"properties": {"tables": {"type": "array", "minItems": 1}}}]}`},
	{"loaded", "tables", ""},
	{"waiting", "phase wall_ns", ""},
	{"done", "", ""},
	{"progress", "progress!", ""},
	{"result", "result!", ""},
	{"failed", "reason! result", ""},
}

// ofProtocol has JSON to add to the definitions of the protocol, for rules that its Go types cannot
// express. Workers in other languages may leave out figures that they do not measure.
var ofProtocol = map[string]string{
	"driver.Info":     `{"required": ["name", "kind", "interface"], "properties": {"name": {"type": "string", "minLength": 1}}}`,
	"latency.Summary": `{"required": ["operation", "count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"]}`,
	"plan.Generator":  `{"properties": {"list": {"type": "array", "minItems": 1, "items": {"oneOf": [{"type": "null"}, {"type": "number"}, {"type": "string"}]}}}}`,
	"plan.HTTP":       `{"properties": {"rows": {"const": 1}}, "oneOf": [{"required": ["count"]}, {"required": ["duration_ms"]}]}`,
	"plan.Mix":        `{"oneOf": [{"required": ["count"]}, {"required": ["duration_ms"]}]}`,
	"plan.MixCall":    `{"allOf": [{"properties": {"sql": {"minLength": 1}}}]}`,
	"plan.Parameter":  `{"oneOf": [{"required": ["column"]}, {"required": ["generator"]}]}`,
	"plan.Phase":      `{"oneOf": [{"required": ["insert"]}, {"required": ["query"]}, {"required": ["mix"]}, {"required": ["http"]}, {"required": ["replay"]}, {"required": ["script"]}]}`,
	"plan.Query":      `{"allOf": [{"required": ["columns"], "properties": {"columns": {"minItems": 1}, "sql": {"minLength": 1}}}]}`,
	"plan.Recorded":   `{"properties": {"type": {"enum": ["int", "real", "text", "blob"]}}}`,
	"plan.Replayed":   `{"oneOf": [{"required": ["do"]}, {"required": ["sql"]}]}`,
	"protocol.Answer": `{"properties": {"rows": {"type": "array", "items": {"oneOf": [{"type": "array", "items": {"$ref": "#/$defs/protocol.Value"}}, {"type": "null"}]}}}}`,
	"protocol.Job":    `{"minProperties": 1, "maxProperties": 1}`,
	"protocol.Proof":  `{"required": []}`,
	"protocol.Sample": `{"required": ["phase", "wall_ns", "operations", "rows"]}`,
}

// TestProtocol compares the schema of the worker protocol with the types of its messages.
func TestProtocol(t *testing.T) {
	g := newGenerator(t)
	g.further = ofProtocol
	s := g.schema(reflect.TypeFor[protocol.Request]())
	defs := s.Definitions
	g.messages(defs, "request", "lab to worker", s, requests)
	g.lenient = true
	s = g.schema(reflect.TypeFor[protocol.Response]())
	for name, def := range s.Definitions {
		defs[name] = def
	}
	g.messages(defs, "response", "worker to lab", s, responses)
	defs["driver.Settings"] = vocabulary()
	compare(t, "../../worker/protocol/protocol.schema.json", layout(t, &jsonschema.Schema{
		Version: jsonschema.Version, ID: "https://github.com/sqlite3perf/sqlite3perf/raw/main/worker/protocol/protocol.schema.json",
		Title:       fmt.Sprintf("sqlite3perf worker protocol, version %d", protocol.Version),
		Description: "One line of the worker protocol; docs/worker-protocol.md explains it.",
		OneOf:       []*jsonschema.Schema{{Ref: "#/$defs/request"}, {Ref: "#/$defs/response"}}, Definitions: defs,
	}))
}

// messages defines the messages in one direction, requests or responses. The parameter "all" is the
// schema with the fields of all these messages.
func (g *generator) messages(defs jsonschema.Definitions, name, description string, all *jsonschema.Schema, list []message) {
	any, used := &jsonschema.Schema{Description: description}, map[string]bool{"type": true}
	for _, m := range list {
		for typ := range strings.FieldsSeq(m.types) {
			s := &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema, Properties: jsonschema.NewProperties(), Required: []string{"type"}}
			_, s.Description, _ = strings.Cut(g.comments[module+"worker/protocol.Type"+strings.ToUpper(typ[:1])+typ[1:]], ": ")
			s.Properties.Set("type", &jsonschema.Schema{Const: typ})
			for field := range strings.FieldsSeq(m.fields) {
				field, must := strings.CutSuffix(field, "!")
				p, ok := all.Properties.Get(field)
				if field == "protocol" {
					p = &jsonschema.Schema{Const: protocol.Version}
				}
				if !ok {
					g.t.Fatalf("a %s has no field %s", name, field)
				}
				if word, _, _ := strings.Cut(p.Description, ","); defs[word] != nil || word == typ { // the description only names the messages that have the field
					clone := *p
					clone.Description, p = "", &clone
				}
				s.Properties.Set(field, p)
				used[field] = true
				if must {
					s.Required = append(s.Required, field)
				}
			}
			g.add(s, m.also)
			defs[typ] = s
			any.OneOf = append(any.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + typ})
		}
	}
	for field := range all.Properties.KeysFromOldest() {
		if !used[field] {
			g.t.Errorf("no message has the field %s of a %s", field, name)
		}
	}
	defs[name] = any
}

// vocabulary returns the schema of settings.
func vocabulary() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: "values in canonical form", AdditionalProperties: jsonschema.FalseSchema, Properties: jsonschema.NewProperties()}
	for _, d := range driver.Vocabulary {
		p := enum(d.Values...)
		if d.Pragma { // a value that was read back may be any text
			p = enum()
		}
		p.Description = d.About
		s.Properties.Set(d.Name, p)
	}
	return s
}
