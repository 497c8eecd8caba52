package build

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// option describes one option of a variant, such as tags in mattn:tags=sqlite_fts5.
type option struct {
	key string

	// canonical returns the canonical form of a value, or false if the value is invalid.
	canonical func(value string) (string, bool)
	want      string // describes valid values, for error messages

	built bool // true: the option changes how the worker is built; false: how it is run
}

// options lists the options of variants in canonical order. There are also options env.NAME, which set
// environment variables of the worker.
var options = []option{
	{"tags", joined(`[A-Za-z0-9_.]+`), "build tags joined with +, such as sqlite_fts5+sqlite_stat4", true},
	{"cflags", flags, "flags for the C compiler, such as -O3", true},
	{"GOAMD64", matching(`v[1-4]`), "v1, v2, v3 or v4", true},
	{"GOARM64", matching(`v[89]\.[0-9](,(lse|crypto))*`), `such as v8.1 or v8.0\,lse`, true},
	{"GOEXPERIMENT", joined(`[a-z0-9]+`), "experiments of Go joined with +, such as nogreenteagc", true},
	{"GOGC", percent, "a percentage such as 400, or off", false},
	{"GOMEMLIMIT", matching(`off|[0-9]{1,15}([KMGT]iB|B)?`), "a size such as 512MiB, or off", false},
	{"GOMAXPROCS", matching(`[1-9][0-9]{0,3}`), "a number from 1 to 9999", false},
}

// environmentPrefix is the prefix of the key of an option that sets an environment variable.
const environmentPrefix = "env."

// reserved are the environment variables that sqlite3perf itself sets for workers and builds.
var reserved = []string{"SQLITE_TMPDIR", "TMPDIR", "GOTMPDIR", process.MarkVariable}

// matching returns a function for the field "canonical" of an option. The function accepts a value if it
// matches the expression, and returns it unchanged.
func matching(expression string) func(string) (string, bool) {
	re := regexp.MustCompile(`^(` + expression + `)$`)
	return func(v string) (string, bool) { return v, re.MatchString(v) }
}

// joined returns a function for the field "canonical" of an option. The function accepts words separated by
// + or spaces. It sorts the words, removes duplicates and joins the words with +.
func joined(word string) func(string) (string, bool) {
	re := regexp.MustCompile(`^` + word + `$`)
	return func(v string) (string, bool) {
		list := strings.FieldsFunc(v, func(r rune) bool { return r == '+' || r == ' ' })
		slices.Sort(list)
		ok := len(list) > 0 && !slices.ContainsFunc(list, func(w string) bool { return !re.MatchString(w) })
		return strings.Join(slices.Compact(list), "+"), ok
	}
}

func flags(v string) (string, bool) {
	list := strings.Fields(v)
	return strings.Join(list, " "), len(list) > 0 && printable(v)
}

func percent(v string) (string, bool) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return v, v == "off"
	}
	return strconv.FormatUint(n, 10), true
}

func printable(v string) bool {
	return !strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) })
}

func optionKeys() []string {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.key)
	}
	return append(keys, environmentPrefix+"NAME")
}

// lookupOption finds the option with this key. Letter case matters only for env.NAME.
func lookupOption(key string) (option, bool) {
	if i := slices.IndexFunc(options, func(o option) bool { return strings.EqualFold(o.key, key) }); i >= 0 {
		return options[i], true
	}
	if name, ok := strings.CutPrefix(key, environmentPrefix); ok && variableName.MatchString(name) {
		return option{key: key, canonical: func(v string) (string, bool) { return v, printable(v) }, want: "printable text"}, true
	}
	return option{}, false
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseOptions parses "key=value,key=value". In a value, \, stands for a comma.
func parseOptions(text string, k *Known) (map[string]string, error) {
	found := map[string]string{}
	for _, pair := range splitCommas(text) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("bad option %q: want key=value, such as tags=sqlite_fts5 or GOGC=400 (several tags are joined with +)", pair)
		}
		o, known := lookupOption(key)
		if !known {
			return nil, fmt.Errorf("unknown option %q: %s", key, driver.Suggest(key, optionKeys()))
		}
		if err := o.allowed(k); err != nil {
			return nil, err
		}
		if _, twice := found[o.key]; twice {
			return nil, fmt.Errorf("option %s is given twice: leave one out", o.key)
		}
		if found[o.key], ok = o.canonical(value); !ok {
			return nil, fmt.Errorf("bad value %q of %s: want %s", value, o.key, o.want)
		}
	}
	return found, nil
}

// allowed returns an error if the driver cannot have this option.
func (o option) allowed(k *Known) error {
	name, environment := strings.CutPrefix(o.key, environmentPrefix)
	own, _ := lookupOption(name)
	switch {
	case environment && own.key == name:
		return fmt.Errorf("option %s: leave out the prefix %s", o.key, environmentPrefix)
	case environment && slices.Contains(reserved, name):
		return fmt.Errorf("option %s: sqlite3perf sets %s itself, for each trial: leave it out", o.key, name)
	case !environment && len(k.Command) > 0:
		return fmt.Errorf("option %s: %s is not a Go program: it can only have %sNAME=value", o.key, k.Name, environmentPrefix)
	case o.key == "cflags" && k.Kind != driver.Cgo:
		return fmt.Errorf("option cflags: %s has no C code that is compiled: leave it out", k.Name)
	}
	return nil
}

// buildOptions checks a variant's options in a driver.json. Only tags and cflags are allowed,
// because only these can be combined with the options of other variants.
func buildOptions(text string, k *Known) error {
	found, err := parseOptions(text, k)
	if err != nil {
		return err
	}
	for key := range found {
		if key != "tags" && key != "cflags" {
			return fmt.Errorf("option %s: want tags or cflags", key)
		}
	}
	return nil
}

// splitCommas splits at commas without a preceding backslash, and replaces \, by a comma.
func splitCommas(text string) []string {
	var list []string
	continued := false
	for piece := range strings.SplitSeq(text, ",") {
		rest, more := strings.CutSuffix(piece, `\`)
		if more {
			piece = rest + ","
		}
		if continued {
			list[len(list)-1] += piece
		} else {
			list = append(list, piece)
		}
		continued = more
	}
	return list
}

// JoinRefs puts together driver names that were split at all commas. A piece of the form key=value continues
// the variant in the piece before, unless key is the name of a driver.
func JoinRefs(pieces []string, known []Known) ([]string, error) {
	isDriver := func(name string) bool {
		return slices.ContainsFunc(known, func(k Known) bool { return k.Name == name })
	}
	var list []string
	for _, piece := range pieces {
		last := len(list) - 1
		if last < 0 || !strings.HasSuffix(list[last], `\`) {
			piece = strings.TrimSpace(piece)
		}
		key, _, pair := strings.Cut(piece, "=")
		switch {
		case last >= 0 && strings.HasSuffix(list[last], `\`), // the comma is part of a value
			last >= 0 && pair && optionKey.MatchString(key) && !isDriver(key) && optionsBegin.MatchString(list[last]):
			list[last] += "," + piece
		case last >= 0 && !pair && !isDriver(piece) && variableName.MatchString(piece) && endsWithWords.MatchString(list[last]):
			return nil, fmt.Errorf("unknown driver %q: several tags are joined with +, as in %s+%s", piece, list[last], piece)
		default:
			list = append(list, piece)
		}
	}
	return list, nil
}

var (
	optionKey     = regexp.MustCompile(`^[A-Za-z][\w.]*$`)
	optionsBegin  = regexp.MustCompile(`:[A-Za-z][\w.]*=`)
	endsWithWords = regexp.MustCompile(`[:,](tags|GOEXPERIMENT)=[^,=]*$`)
)

// splitRef splits a driver's name as a user typed it. It returns the driver's base name, the version or
// directory as "@version", "=DIR" or "", and the options as ":key=value,…" or "".
func splitRef(name string) (base, which, opts string) {
	i := strings.IndexAny(name, "@:=")
	if i < 0 {
		return name, "", ""
	}
	base, which = name[:i], name[i:]
	end := len(which)
	if which[0] != '=' {
		if j := strings.IndexByte(which, ':'); j >= 0 {
			end = j
		}
	} else if at := optionsBegin.FindStringIndex(which); at != nil { // a directory's path may contain a colon
		end = at[0]
	}
	return base, which[:end], which[end:]
}

// NamesExecutable reports whether name is the path of an executable.
func NamesExecutable(name string) bool {
	base, _, _ := splitRef(name)
	return strings.ContainsAny(base, `/\`) || filepath.VolumeName(name) != ""
}

// Released reports whether a name means a driver of sqlite3perf in its pinned version or in another
// release. It returns false for an executable, a checkout or a commit. So if Released returns true, the
// library's authors have published the code that runs. Commits are excluded because hosting sites also
// serve commits of forks under the original repository's name. The name may have options, but only the
// options of the variants in driver.json.
func Released(name string, known []Known) bool {
	base, which, opts := splitRef(name)
	i := slices.IndexFunc(known, func(k Known) bool { return k.Name == base })
	if i < 0 || NamesExecutable(name) {
		return false
	}
	k := &known[i]
	version, at := strings.CutPrefix(which, "@")
	release := at && (version == k.Version || semver.IsValid(version) && !module.IsPseudoVersion(version))
	if which != "" && !release {
		return false
	}
	if opts == "" {
		return true
	}
	asked, err := parseOptions(opts[1:], k)
	own := Ref{Name: base, Known: k}.having(slices.Collect(maps.Keys(k.Variants))).Options
	for key, words := range asked {
		if !containsAll(strings.FieldsFunc(own[key], isJoint), strings.FieldsFunc(words, isJoint)) {
			return false
		}
	}
	return err == nil
}

func isJoint(c rune) bool { return c == '+' }

// checkout checks that dir contains the driver's library, and returns the absolute path.
func checkout(dir string, k *Known) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(abs)
	if err != nil || !fi.IsDir() {
		return "", fmt.Errorf("%s is not a directory: want a checkout of %s", dir, k.Module)
	}
	data, err := directory.ReadRegular(filepath.Join(abs, "go.mod"), maxModule)
	if err != nil {
		return "", fmt.Errorf("%s has no go.mod: want the root of a checkout of %s", dir, k.Module)
	}
	if path := modfile.ModulePath(data); path != k.Module {
		return "", fmt.Errorf("%s is the module %s: want a checkout of %s", dir, cmp.Or(path, "without a name"), k.Module)
	}
	return abs, nil
}

// variantName returns the driver's name with version, directory dir and options.
func (r Ref) variantName(dir string) string {
	name := r.Known.Name
	if r.Version != "" {
		name += "@" + r.Version
	}
	if dir != "" {
		name += "=" + dir
	}
	return name + r.optionText()
}

// optionText returns the options as a user would type them, in canonical order.
func (r Ref) optionText() string {
	var pairs []string
	for _, key := range r.optionKeys() {
		pairs = append(pairs, key+"="+strings.ReplaceAll(r.Options[key], ",", `\,`))
	}
	if pairs == nil {
		return ""
	}
	return ":" + strings.Join(pairs, ",")
}

// optionKeys returns the keys of r.Options in canonical order.
func (r Ref) optionKeys() []string {
	var keys []string
	for _, o := range options {
		if _, ok := r.Options[o.key]; ok {
			keys = append(keys, o.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Options)) {
		if strings.HasPrefix(key, environmentPrefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

// words returns the words in the value of an option. In the value they are separated by +.
func (r Ref) words(key string) []string {
	return strings.FieldsFunc(r.Options[key], isJoint)
}

// variables returns the environment variables to set for the worker, in addition to the environment of this
// process. The keys of the map are the variables' names.
func (r Ref) variables() map[string]string {
	set := map[string]string{}
	for key, value := range r.Options {
		if o, _ := lookupOption(key); !o.built {
			set[strings.TrimPrefix(key, environmentPrefix)] = value
		}
	}
	return set
}

// Env returns, as NAME=value, the environment variables to set for the worker, in addition to the environment
// of this process.
func (r Ref) Env() []string {
	var list []string
	set := r.variables()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		list = append(list, name+"="+set[name])
	}
	return list
}

// Variables returns the names of the environment variables whose values the worker must
// report.
func (r Ref) Variables() []string { return slices.Sorted(maps.Keys(r.variables())) }

// Unproven compares the worker's proof, the values that the worker read back, with the properties of the
// variant. If the proof does not show a property, Unproven returns a message about this property. If the
// proof shows all properties, or if the variant is an executable, it returns "".
func (r Ref) Unproven(p *protocol.Proof) string {
	lacks := func(what, wanted, got string) string {
		return fmt.Sprintf("%s: wanted %s, got %s: the worker is not the variant that was asked for", what, cmp.Or(wanted, "nothing"), cmp.Or(got, "nothing"))
	}
	if r.Known == nil {
		return ""
	}
	if r.Version != "" && p.ModuleVersion != r.Version {
		return lacks("version", r.Version, p.ModuleVersion)
	}
	if r.Dir != "" && p.ModuleVersion != r.Dir {
		return lacks("directory", r.Dir, p.ModuleVersion)
	}
	for _, key := range r.optionKeys() {
		want, got, shown := r.Options[key], "", false
		switch key {
		case "tags":
			got = p.Build["-tags"]
			shown = containsAll(strings.Split(got, ","), r.words(key))
		case "GOEXPERIMENT":
			got = p.Build[key]
			shown = containsAll(strings.Split(got, ","), r.words(key))
		case "cflags":
			got = cmp.Or(p.Build["CGO_CFLAGS"], "nothing, as GOFLAGS=-trimpath leaves it out of the build information")
			shown = got == want || strings.HasSuffix(got, " "+want)
		case "GOAMD64", "GOARM64":
			got = p.Build[key]
			shown = got == want
		case "GOMEMLIMIT":
			got = p.Environment[key]
			shown = got == want || got != "" && got == memoryLimit(want)
		default:
			name := strings.TrimPrefix(key, environmentPrefix)
			var there bool
			got, there = p.Environment[name]
			shown = there && got == want
		}
		if !shown {
			return lacks(key, want, got)
		}
	}
	return ""
}

func containsAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(list, w) })
}

// memoryLimit converts a value of GOMEMLIMIT to bytes. It returns "" if that fails.
func memoryLimit(v string) string {
	number := strings.TrimRight(v, "KMGTiB")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return ""
	}
	shift := map[string]uint{"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[v[len(number):]]
	if n > math.MaxInt64>>shift {
		return ""
	}
	return strconv.FormatUint(n<<shift, 10)
}

// Same reports whether r and other are built from the same version of the same library, with the same options.
func (r Ref) Same(other Ref) bool {
	return r.Known != nil && r.Known == other.Known && r.Dir == other.Dir && maps.Equal(r.Options, other.Options) &&
		r.version() == other.version()
}
