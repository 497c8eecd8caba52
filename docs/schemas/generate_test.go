package schemas

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

const module = "github.com/sqlite3perf/sqlite3perf/"

// A generator makes schemas from Go types. The comments of types and fields become descriptions. A
// string type becomes an enum of the type's constants.
type generator struct {
	t        *testing.T
	comments map[string]string // comments by package.Type or package.Type.Field
	enums    map[string][]any  // values of constants by package.Type
	parsed   map[string]bool   // packages whose source has been read
	types    map[string]reflect.Type
	consts   map[string][]constant   // string constants by package
	files    map[reflect.Type]string // name of the file with the schema of a type, for types that have their own file
	further  map[string]string       // JSON to add to a definition, by its name, for rules that types and tags cannot express

	open map[reflect.Type]bool // string types that may have values other than their constants

	// lenient makes schemas accept a field that is 0, although Go leaves out such a field (omitempty).
	lenient bool
}

type constant struct{ name, value string }

func newGenerator(t *testing.T) *generator {
	return &generator{t: t, comments: map[string]string{}, enums: map[string][]any{}, parsed: map[string]bool{}, consts: map[string][]constant{}}
}

// schema returns the schema of a type.
func (g *generator) schema(of reflect.Type) *jsonschema.Schema {
	g.types = map[string]reflect.Type{}
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Namer: g.name, Mapper: g.mapped, LookupComment: g.comment}
	if g.files != nil {
		r.Lookup = func(t reflect.Type) jsonschema.ID { return jsonschema.ID(g.files[t]) }
	}
	s := r.ReflectFromType(of)
	s.Version = ""
	for name, t := range g.types {
		def := s.Definitions[name]
		if t == of {
			def = s
		}
		if def != nil && t.Kind() == reflect.Struct {
			g.adjust(def, t)
			g.add(def, g.further[name])
		}
	}
	return s
}

// name returns the name of a type's definition. It returns "" if the type has no name of its own.
func (g *generator) name(t reflect.Type) string {
	if t.PkgPath() == "" || t.Name() == "" {
		return ""
	}
	name := path.Base(t.PkgPath()) + "." + t.Name()
	g.types[name] = t
	return name
}

// mapped returns the schema of a type that is written as a text in JSON, or nil for other types.
func (g *generator) mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[stats.Metric]():
		var names []string
		for _, m := range stats.Metrics {
			names = append(names, string(m))
		}
		return enum(names...)
	case reflect.TypeFor[driver.Type]():
		return enum(driver.TypeNames()...)
	case reflect.TypeFor[driver.ColumnType]():
		names := driver.TypeNames()
		for _, n := range driver.TypeNames() {
			names = append(names, n+"?")
		}
		return enum(names...)
	}
	if t.Kind() != reflect.String || t.PkgPath() == "" || g.open[t] {
		return nil
	}
	g.parse(t.PkgPath())
	if values := g.enums[t.PkgPath()+"."+t.Name()]; values != nil {
		return &jsonschema.Schema{Type: "string", Enum: slices.Clone(values)}
	}
	return nil
}

func enum(values ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// adjust changes the schema of a type by three words in the tag jsonschema, which package jsonschema
// does not know. The word "optional" means that the field may be absent although sqlite3perf always
// writes it. For an embedded pointer, it means this for all fields of the embedded type. The word
// "constants=Gen" means that the field's values are the package's constants whose names begin with
// Gen. The word "signed" means that the integer may be negative. All other integers are at least 0.
func (g *generator) adjust(s *jsonschema.Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		words := strings.Split(f.Tag.Get("jsonschema"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		if f.Anonymous && name == "" && embedded.Kind() == reflect.Struct {
			g.adjust(s, embedded)
			if slices.Contains(words, "optional") {
				for _, x := range reflect.VisibleFields(embedded) {
					name, _, _ := strings.Cut(x.Tag.Get("json"), ",")
					s.Required = without(s.Required, name)
				}
			}
			continue
		}
		p, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		if !slices.Contains(words, "signed") {
			least := "0"
			if strings.HasSuffix(f.Tag.Get("json"), ",omitempty") && !g.lenient && f.Type.Kind() >= reflect.Int && f.Type.Kind() <= reflect.Uint64 {
				least = "1"
			}
			natural(p, json.Number(least))
		}
		for _, w := range words {
			if prefix, ok := strings.CutPrefix(w, "constants="); ok {
				p.Enum = append(p.Enum, g.constants(t.PkgPath(), prefix)...)
			} else if w == "optional" {
				s.Required = without(s.Required, name)
			}
		}
	}
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(list, func(x string) bool { return x == name })
}

// natural sets the minimum of an integer's schema to least, unless the schema has a minimum or an
// enum. It does the same for integers in the alternatives, items and additional properties of s.
func natural(s *jsonschema.Schema, least json.Number) {
	if s.Type == "integer" && s.Minimum == "" && s.Enum == nil {
		s.Minimum = least
	}
	for _, inner := range append(s.OneOf, s.Items, s.AdditionalProperties) {
		if inner != nil {
			natural(inner, least)
		}
	}
}

// constants returns the values of a package's constants whose names are a prefix followed by a
// capitalized word. The test fails if there are none.
func (g *generator) constants(pkg, prefix string) (list []any) {
	g.parse(pkg)
	for _, c := range g.consts[pkg] {
		if rest, ok := strings.CutPrefix(c.name, prefix); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			list = append(list, c.value)
		}
	}
	if list == nil {
		g.t.Errorf("%s has no constants %s…", pkg, prefix)
	}
	return list
}

// add adds text, a part of a schema in JSON, to s.
func (g *generator) add(s *jsonschema.Schema, text string) {
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		g.t.Fatal(err)
	}
}

var docLink = regexp.MustCompile(`\[([\w.]+)\]`)

// comment returns the comment of a type or, unless field is "", of its field.
func (g *generator) comment(t reflect.Type, field string) string {
	if !strings.HasPrefix(t.PkgPath(), module) {
		return ""
	}
	g.parse(t.PkgPath())
	return g.comments[strings.TrimSuffix(t.PkgPath()+"."+t.Name()+"."+field, ".")]
}

// parse reads the comments and constants of a package.
func (g *generator) parse(pkg string) {
	if g.parsed[pkg] {
		return
	}
	g.parsed[pkg] = true
	files, err := filepath.Glob("../../" + strings.TrimPrefix(pkg, module) + "/*.go")
	if err != nil || files == nil {
		g.t.Fatalf("%s: %v", pkg, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					g.declared(pkg, d, spec)
				}
			}
		}
	}
}

func (g *generator) declared(pkg string, d *ast.GenDecl, spec ast.Spec) {
	note := func(name string, groups ...*ast.CommentGroup) {
		for _, c := range groups {
			if text := strings.Join(strings.Fields(c.Text()), " "); text != "" && g.comments[pkg+"."+name] == "" {
				g.comments[pkg+"."+name] = docLink.ReplaceAllString(text, "$1")
			}
		}
	}
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		note(spec.Name.Name, spec.Doc, d.Doc)
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, n := range f.Names {
					note(spec.Name.Name+"."+n.Name, f.Doc, f.Comment)
				}
			}
		}
	case *ast.ValueSpec:
		note(spec.Names[0].Name, spec.Comment)
		typ, ok := spec.Type.(*ast.Ident)
		for i, v := range spec.Values {
			lit, text := v.(*ast.BasicLit)
			if !text || d.Tok != token.CONST || lit.Kind != token.STRING {
				continue
			}
			value, _ := strconv.Unquote(lit.Value)
			g.consts[pkg] = append(g.consts[pkg], constant{spec.Names[i].Name, value})
			if ok {
				g.enums[pkg+"."+typ.Name] = append(g.enums[pkg+"."+typ.Name], value)
			}
		}
	}
}

// layout returns a value as JSON. Objects and arrays that fit into a line are on one line.
func layout(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	var out []string
	var open []int
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		out = append(out, line)
		switch text := strings.TrimSpace(line); {
		case strings.HasSuffix(text, "{") || strings.HasSuffix(text, "["):
			open = append(open, len(out)-1)
		case text[0] == '}' || text[0] == ']':
			from := open[len(open)-1]
			open = open[:len(open)-1]
			whole := out[from]
			for i, part := range out[from+1:] {
				if i > 0 && i < len(out)-from-2 {
					whole += " "
				}
				whole += strings.TrimSpace(part)
			}
			if len(whole) <= 160 {
				out = append(out[:from], whole)
			}
		}
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// compare compares a file with the wanted content. With -update it writes the file instead.
func compare(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is outdated: go test ./docs/schemas -update writes it", file)
	}
}
