package workload

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Problem is one mistake in a workload file.
type Problem struct {
	File         string
	Line, Column int    // from 1
	Message      string // the mistake, and what to write instead

	// Outside is true if SQL reaches files other than its database. [AllowFiles] permits that.
	Outside bool
}

func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are all mistakes found in a workload file, in the order of the file.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// reader reads the nodes of one file and notes mistakes in them.
type reader struct {
	file     string
	problems Problems
	seen     map[Problem]bool // the problems listed so far, without the texts of the field "note"
	more     *Problem         // the first problem after maxProblems others; it is not listed
	visited  int              // number of visited nodes; a node counts again each time an alias leads to it, and for each case (combination of parameter values)
	found    int              // number of problems noted; the same problem counts each time it is noted
	note     string           // text that is appended to the message of each new problem
	outside  bool             // value of Problem.Outside in problems noted from now on
}

// err returns the problems as an error, or nil if there are none.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.more != nil {
		r.more.Message = fmt.Sprintf("there are more problems than these %d", len(r.problems))
		return append(r.problems, *r.more)
	}
	return r.problems
}

// errorf notes a problem at a node, unless the same problem has been noted. Of the problems beyond
// maxProblems, it notes only the first, in r.more.
func (r *reader) errorf(n *yaml.Node, format string, args ...any) {
	r.found++
	p := Problem{File: r.file, Line: 1, Column: 1, Outside: r.outside}
	if n != nil && n.Line > 0 {
		p.Line, p.Column = n.Line, n.Column
	}
	if r.more != nil {
		return
	}
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = shortened(a, maxArgument)
		case error:
			args[i] = shortened(a.Error(), maxArgument)
		}
	}
	p.Message = shortened(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "), maxMessage)
	if r.seen[p] {
		return
	}
	if len(r.problems) == maxProblems {
		r.more = &p
		return
	}
	if r.seen == nil {
		r.seen = map[Problem]bool{}
	}
	r.seen[p] = true
	p.Message += r.note
	r.problems = append(r.problems, p)
}

// Bounds on messages. A message quotes at most a line's worth of the file, however
// long the text in the file is.
const (
	maxProblems = 100
	maxMessage  = 800 // bytes
	maxArgument = 400
	maxQuoted   = 80
)

// shortened truncates a text to the number of bytes in the parameter "most", and adds "…".
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// maxVisits limits how many nodes of a file are visited. A node counts again each time an alias
// leads to it, and for each case (combination of parameter values). Files written for people have
// fewer nodes.
const maxVisits = 5_000_000

// visit counts n and its children as visited nodes. It reports whether all visits together are at most
// maxVisits.
func (r *reader) visit(n *yaml.Node) bool {
	if r.visited > maxVisits {
		return false
	}
	if r.visited += 1 + len(n.Content); r.visited > maxVisits {
		r.errorf(n, "the file is too large to be checked: aliases and the lists of parameters multiply its values to more than %d: want fewer", maxVisits)
		return false
	}
	return true
}

var (
	yamlLine = regexp.MustCompile(`line (\d+): `)

	// The YAML package counts lines from 0 in these messages.
	yamlGrammar = regexp.MustCompile(`^did not find expected (node content|key|',' or |'-' |<)`)

	// These messages often have the line where the block begins, not the line of the mistake.
	yamlBlock = regexp.MustCompile(`^did not find expected (key|'-' )`)
)

// syntax notes an error of the YAML parser. The text of such an error gives at most the line, not the column.
func (r *reader) syntax(err error, data []byte) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	n := &yaml.Node{Line: 1, Column: 1}
	if m := yamlLine.FindStringSubmatchIndex(message); m != nil {
		n.Line, _ = strconv.Atoi(message[m[2]:m[3]])
		message = message[:m[0]] + message[m[1]:]
		if yamlGrammar.MatchString(message) {
			n.Line++
		}
	}
	lines := strings.Split(string(data), "\n")
	switch line := lines[min(n.Line, len(lines))-1]; {
	case strings.Contains(message, "cannot start any token") && strings.Contains(line, "\t"):
		n.Column = strings.Index(line, "\t") + 1
		message = "a tab: indent with spaces"
	case strings.Contains(message, "cannot start any token"):
		message += ": quote a text that begins with @, ` or %"
	case strings.HasPrefix(message, "unknown anchor '"):
		alias := "*" + strings.Split(message, "'")[1] // the message gives the alias's name, but no line
		n.Line, n.Column = 1, 1
		if before, _, ok := strings.Cut(string(data), alias); ok {
			n.Line, n.Column = 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n")
		}
		message += ": write &" + alias[1:] + " before the value that is meant, or quote a text that begins with *"
	case strings.HasPrefix(message, "mapping values are not allowed"):
		message += ": check the indentation of this line and the one before, and quote a text that contains a colon"
	case yamlBlock.MatchString(message):
		message += ": check the indentation of the block that this line is in"
	}
	r.errorf(n, "not YAML: %s", message)
}

// fields are the entries of a mapping, in order.
type fields struct {
	node   *yaml.Node
	keys   []*yaml.Node
	values []*yaml.Node
	index  map[string]int // index in the fields "keys" and "values", by key
}

// get returns the value of a key, or nil if the key is missing.
func (f *fields) get(key string) *yaml.Node {
	if i, ok := f.index[key]; ok {
		return f.values[i]
	}
	return nil
}

// required returns the value of a key. If the key is missing, it reports a problem and returns nil.
func (r *reader) required(f *fields, key, problem string, args ...any) *yaml.Node {
	n := f.get(key)
	if n == nil {
		r.errorf(f.node, problem, args...)
	}
	return n
}

// key returns the node of the key itself, or the node of the mapping if the key is missing.
func (f *fields) key(key string) *yaml.Node {
	if i, ok := f.index[key]; ok {
		return f.keys[i]
	}
	return f.node
}

// target follows an alias to the node that it refers to.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// describe returns how errors describe a node: its kind, or its quoted text.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return "an empty list"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	default:
		return strconv.Quote(shortened(n.Value, maxQuoted))
	}
}

// mapping reads a mapping with any keys. If n is not a mapping, or the file has too many nodes, it reports a
// problem and returns false. The parameters "what" and "example" are parts of the message.
func (r *reader) mapping(n *yaml.Node, what, example string) (*fields, bool) {
	n = target(n)
	if n.Kind != yaml.MappingNode {
		r.errorf(n, "%s is %s: want a mapping, such as %s", what, describe(n), example)
		return nil, false
	}
	if !r.visit(n) {
		return nil, false
	}
	f := &fields{node: n, index: map[string]int{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := target(n.Content[i])
		if k.Kind != yaml.ScalarNode {
			r.errorf(k, "a key of %s is %s: want a word", what, describe(k))
			continue
		}
		if f.get(k.Value) != nil {
			r.errorf(k, "%q is there twice in %s: leave one of them out", k.Value, what)
			continue
		}
		f.index[k.Value] = len(f.keys)
		f.keys = append(f.keys, k)
		f.values = append(f.values, target(n.Content[i+1]))
	}
	return f, true
}

// object reads a mapping that may have only the known keys. It reports other keys. It returns false only if
// n is not a mapping, or the file has too many nodes.
func (r *reader) object(n *yaml.Node, what, example string, known []string) (*fields, bool) {
	f, ok := r.mapping(n, what, example)
	if ok {
		r.known(f, what, known)
	}
	return f, ok
}

func (r *reader) known(f *fields, what string, known []string) {
	for _, k := range f.keys {
		if !slices.Contains(known, k.Value) {
			r.errorf(k, "unknown key %q in %s: %s", k.Value, what, driver.Suggest(k.Value, known))
		}
	}
}

// list reads a list. A single scalar or mapping counts as a list of one element. If the file has too many
// nodes, list reports a problem and returns nil.
func (r *reader) list(n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	if !r.visit(n) {
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		items[i] = target(c)
	}
	return items
}

// text reads a scalar exactly as it is written. It returns "" and false for a nil node. If the node is not a
// text, it reports a problem, and returns "" and false.
func (r *reader) text(n *yaml.Node, what, example string) (string, bool) {
	if n == nil {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.errorf(n, "%s is %s: want a text, such as %s", what, describe(n), example)
		return "", false
	}
	return n.Value, true
}

// oneOf reads one of the given words. It returns "" and false if n is nil or has none of these words. If
// n has none of these words, it also reports a problem.
func (r *reader) oneOf(n *yaml.Node, what string, words ...string) (string, bool) {
	if n == nil {
		return "", false
	}
	if n.Kind == yaml.ScalarNode && slices.Contains(words, n.Value) {
		return n.Value, true
	}
	r.errorf(n, "%s is %s: want %s", what, describe(n), strings.Join(words, " or "))
	return "", false
}

// is reads one of the given words, and reports whether it is equal to the parameter "word". It returns false
// for a nil node.
func (r *reader) is(word string, n *yaml.Node, what string, words ...string) bool {
	w, _ := r.oneOf(n, what, words...)
	return w == word
}

// flag reads true or false. It returns false for a nil node.
func (r *reader) flag(n *yaml.Node, what string) bool {
	return r.is("true", n, what, "true", "false")
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// identifier checks that a name can be used in SQL and after "$" and ":".
func (r *reader) identifier(n *yaml.Node, what string) bool {
	if identifier.MatchString(n.Value) {
		return true
	}
	r.errorf(n, "bad name %q of %s: want letters, digits and _, beginning with a letter", n.Value, what)
	return false
}

// columnName checks the name of a column of a data set. It accepts a name if a table's column can
// have it, and if it can be written after the data set's name and a dot.
func (r *reader) columnName(n *yaml.Node) bool {
	if n.Value != "" && utf8.ValidString(n.Value) && !strings.ContainsFunc(n.Value, func(c rune) bool { return c == '.' || unicode.IsControl(c) }) {
		return true
	}
	r.errorf(n, "bad name %q of a column: want one without dots and line breaks", n.Value)
	return false
}
