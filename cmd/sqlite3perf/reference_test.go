package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

var update = flag.Bool("update", false, "write docs/commands.md and the table in docs/proofs.md")

const referenceFile = "../../docs/commands.md"

// TestReference checks that docs/commands.md is the page that the function reference generates. With
// -update it writes the file.
func TestReference(t *testing.T) {
	root := rootCommand(cli.ProcessEnvironment())
	for _, g := range root.Groups() {
		for _, c := range commandsOf(root, g.ID) {
			if documents[commandName(c)] == "" {
				t.Fatalf("the map documents lacks %s: add the document that explains the command", commandName(c))
			}
		}
	}
	want := reference(root)
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is outdated: go test ./cmd/sqlite3perf -run TestReference -update writes it", referenceFile)
	}
}

// reference returns the page of all commands and flags, as Markdown.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# Commands and flags

This page is generated from the commands. ` + "`sqlite3perf COMMAND --help`" + ` says more, with examples.

`)
	_, status, _ := strings.Cut(rootUsage, "\nExit status: ")
	fmt.Fprintf(&b, "## Exit status\n\n%s\n\n## Configuration\n\n%s\n", oneLine(status), configurationText)
	names := map[cli.Reach][]string{}
	for _, name := range slices.Sorted(slices.Values(cli.FlagNames(root))) {
		names[cli.ReachOf(root, name)] = append(names[cli.ReachOf(root, name)], "`"+name+"`")
	}
	delete(names, cli.Harmless)
	for _, r := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(names[r], ", "), r)
	}
	b.WriteString(`
## Shared flags

Each command below lists its shared flags under *Shared*, by name or by a heading of this section. [drivers.md](drivers.md) says how drivers are named. Without ` + "`--format`" + `, the extension of the file of ` + "`-o`" + ` decides the format. Without a file, the format is ` + "`table`" + `.
`)
	shared := sharedFlags(root)
	flags := slices.Sorted(maps.Keys(shared))
	for _, group := range append(cli.FlagGroups, "") {
		fmt.Fprintf(&b, "\n### %s\n\n", groupTitle(group))
		for _, name := range flags {
			if cli.GroupOf(shared[name]) == group {
				b.WriteString(describe(shared[name]))
			}
		}
	}
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", g.Title)
		for _, c := range commandsOf(root, g.ID) {
			writeCommand(&b, c, shared)
		}
	}
	return b.String()
}

const configurationText = `A flag's value comes from the first of these that sets it:

1. the command line;
2. an environment variable: ` + "`SQLITE3PERF_ROUNDS=8`, `SQLITE3PERF_WORKER_CACHE=…`" + ` (a ` + "`-`" + ` becomes ` + "`_`" + `). Standard error lists such variables that set no flag;
3. ` + "`sqlite3perf.yaml`" + ` in the working directory;
4. ` + "`sqlite3perf/config.yaml`" + ` in your configuration directory (` + "`~/.config`" + ` on Linux).

A file has a line such as ` + "`rounds: 8`" + ` for each flag, and a list for a flag that can have several values. Standard error says which file set which flags.

The working directory may be somebody else's. So the file there may say how much is measured and how it is printed, but not set these flags (exit status 2). A source tree of sqlite3perf in that directory is used only if sqlite3perf was built from it, or if ` + "`--source`" + ` names it.

| flags | each of them |
|---|---|`

// commandsOf returns the commands of a group. It replaces a command that has subcommands by these
// subcommands.
func commandsOf(root *cobra.Command, group string) (list []*cobra.Command) {
	for _, c := range root.Commands() {
		switch {
		case c.GroupID != group || c.Hidden || c.Name() == "help":
		case c.HasSubCommands():
			list = append(list, c.Commands()...)
		default:
			list = append(list, c)
		}
	}
	return list
}

// commandName returns the name of a command without the name of the tool.
func commandName(c *cobra.Command) string {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	return name
}

// sharedFlags returns, by name, the flags that several commands have with the same text. If a flag has
// several such texts, sharedFlags chooses the text that most commands have.
func sharedFlags(root *cobra.Command) map[string]*pflag.Flag {
	count := map[string]int{}
	most := map[string]*pflag.Flag{}
	for _, c := range cli.Subcommands(root) {
		if c.Hidden {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			text := describe(f)
			count[text]++
			if best := most[f.Name]; f.Name != "help" && !f.Hidden && count[text] > 1 && (best == nil || count[text] > count[describe(best)]) {
				most[f.Name] = f
			}
		})
	}
	return most
}

// documents has, by command, the document that explains the command. docs/commands.md has only the
// first sentence of the command's help, and the paragraphs about exit statuses.
var documents = map[string]string{
	"run": "methodology.md", "reproduce": "studies.md", "profile": "profiling.md",
	"compare": "verdicts.md", "gate": "ci.md", "bisect": "verdicts.md", "diff": "answers.md",
	"advise": "advice.md", "tune": "tuning.md", "locks": "locks.md", "dsn": "dsn.md", "crash": "durability.md", "cluster": "cluster.md",
	"show": "report-formats.md", "report": "report-formats.md", "serve": "explorer.md", "site": "site.md", "runs": "store.md", "merge": "store.md",
	"drivers": "drivers.md", "workloads": "workload-language.md", "doctor": "doctor.md",
	"workload from": "workload-from.md", "check": "adding-a-driver.md",
	"generate": "one-database.md", "bench": "one-database.md", "pragma": "one-database.md", "concurrent": "one-database.md", "paginate": "one-database.md",
}

func writeCommand(b *strings.Builder, c *cobra.Command, shared map[string]*pflag.Flag) {
	fmt.Fprintf(b, "\n### %s\n\n", commandName(c))
	document := documents[commandName(c)]
	status := "the exit status is"
	if strings.Contains(c.Long, "Exit status: ") {
		status = "exit status: "
	}
	for i, paragraph := range strings.Split(c.Long, "\n\n") {
		text, _, _ := strings.Cut(paragraph, "\n  ") // removes a table or a list of commands at the end
		text = oneLine(text)
		if i == 0 {
			sentence, _, _ := strings.Cut(text, ". ")
			fmt.Fprintf(b, "%s ([more](%s)).\n\n", prose(strings.TrimRight(sentence, ".:")), document)
		} else if strings.Contains(strings.ToLower(text), status) {
			fmt.Fprintf(b, "%s\n\n", prose(text))
		}
	}
	if use := strings.TrimSuffix(c.UseLine(), " [flags]"); use != c.CommandPath() {
		fmt.Fprintf(b, "Usage: `%s`\n\n", use)
	}
	also := map[string][]string{} // names of shared flags, by group
	own := false
	c.Flags().VisitAll(func(f *pflag.Flag) {
		text := describe(f)
		switch s := shared[f.Name]; {
		case f.Name == "help" || f.Hidden:
		case s != nil && describe(s) == text:
			also[cli.GroupOf(s)] = append(also[cli.GroupOf(s)], f.Name)
		default:
			own = true
			b.WriteString(text)
		}
	})
	names := sharedNames(shared, also)
	if own && names != nil {
		b.WriteString("\n")
	}
	if names != nil {
		fmt.Fprintf(b, "*Shared*: %s\n", strings.Join(names, ", "))
	}
}

// sharedNames returns the names of a command's shared flags. If the command has nearly all flags of a group,
// sharedNames returns the title of the group instead, with the flags that the command lacks.
func sharedNames(shared map[string]*pflag.Flag, also map[string][]string) (names []string) {
	for _, group := range append(cli.FlagGroups, "") {
		var lacks []string
		for name, f := range shared {
			if cli.GroupOf(f) == group && !slices.Contains(also[group], name) {
				lacks = append(lacks, name)
			}
		}
		slices.Sort(lacks)
		slices.Sort(also[group])
		each := strings.Join(also[group], ", ")
		all := groupTitle(group)
		if lacks != nil {
			all += " (not " + strings.Join(lacks, ", ") + ")"
		}
		switch {
		case lacks == nil || len(all) < len(each):
			names = append(names, all)
		case each != "":
			names = append(names, each)
		}
	}
	return names
}

// groupTitle returns the title of a section of shared flags. The parameter "group" is "" for flags
// without a group.
func groupTitle(group string) string { return cmp.Or(group, "Other shared flags") }

// describe returns the description of a flag as a list item in Markdown.
func describe(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	names := "`--" + f.Name + "`"
	if f.Shorthand != "" {
		names = "`-" + f.Shorthand + "`, " + names
	}
	if value != "" && !strings.HasPrefix(value, "string") {
		names += " *" + prose(value) + "*"
	}
	usage = formatUsage.ReplaceAllString(namedUsage.ReplaceAllString(usage, ""), "$1")
	text := "- " + names + ": " + prose(usage)
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		text += " (default `" + strings.Trim(f.DefValue, "[]") + "`)"
	}
	return text + "\n"
}

var (
	special = regexp.MustCompile(`[*<|]|\b_|_\b`)
	// Flag texts that match formatUsage or namedUsage are shortened, because the section on shared
	// flags explains --format and the naming of drivers.
	formatUsage = regexp.MustCompile(`^how .* (?:is|are) printed: (.*?)(?: \(default: as the extension of -o says, otherwise table\))?$`)
	namedUsage  = regexp.MustCompile(`: mattn, mattn@[^ ]*, mattn[^()]*, \./my-worker`)

	flagName = regexp.MustCompile(`(^|[\s(])(--?[A-Za-z][\w-]*)`)
)

// prose returns a plain text as Markdown, with the names of flags as code.
func prose(text string) string {
	return flagName.ReplaceAllString(special.ReplaceAllString(text, `\$0`), "$1`$2`")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
