package defects_test

import (
	"cmp"
	"flag"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/defects"
)

var update = flag.Bool("update", false, "write docs/defects.md")

func ids(list []defects.Defect) string {
	var names []string
	for _, d := range list {
		names = append(names, d.ID)
	}
	return strings.Join(names, " ")
}

// TestVersions checks which versions have a defect, at the ends of the affected ranges.
func TestVersions(t *testing.T) {
	const mattn, modernc, ncruces = "github.com/mattn/go-sqlite3", "modernc.org/sqlite", "github.com/ncruces/go-sqlite3"
	for _, c := range []struct {
		id   string
		l    defects.Library
		want bool
	}{
		{"wal-reset", defects.Library{SQLite: "3.6.23.1"}, false},
		{"wal-reset", defects.Library{SQLite: "3.7.0"}, true},
		{"wal-reset", defects.Library{SQLite: "3.7"}, true},
		{"wal-reset", defects.Library{SQLite: "3.7.0.1"}, true},
		{"wal-reset", defects.Library{SQLite: "3.8.4.2"}, true},
		{"wal-reset", defects.Library{SQLite: "3.44.5"}, true},
		{"wal-reset", defects.Library{SQLite: "3.44.6"}, false},
		{"wal-reset", defects.Library{SQLite: "3.45.0"}, true},
		{"wal-reset", defects.Library{SQLite: "3.50.6"}, true},
		{"wal-reset", defects.Library{SQLite: "3.50.7"}, false},
		{"wal-reset", defects.Library{SQLite: "3.51.0"}, true},
		{"wal-reset", defects.Library{SQLite: "3.51.2"}, true},
		{"wal-reset", defects.Library{SQLite: "3.51.3"}, false},
		{"wal-reset", defects.Library{SQLite: "3.52.0"}, false},
		{"wal-reset", defects.Library{SQLite: "3.100.0"}, false},
		{"wal-reset", defects.Library{}, false},
		{"wal-reset", defects.Library{SQLite: "3.x"}, false},
		{"wal-reset", defects.Library{SQLite: "v3.51.2"}, false},
		{"withdrawn", defects.Library{SQLite: "3.52.0"}, true},
		{"withdrawn", defects.Library{SQLite: "3.53.0"}, false},
		{"false-commit", defects.Library{SQLite: "3.28.0"}, true},

		// The module modernc.org/sqlite, and a fork that links its SQLite.
		{"super-journal", defects.Library{Module: modernc, Version: "v1.55.0", SQLite: "3.53.3"}, true},
		{"super-journal", defects.Library{Module: modernc, Version: "v1.56.0", SQLite: "3.53.3"}, false},
		{"super-journal", defects.Library{Module: "github.com/glebarez/go-sqlite", Version: "v1.23.0", SQLite: "3.53.3", Linked: map[string]string{modernc: "v1.55.0"}}, true},
		{"super-journal", defects.Library{Module: "github.com/glebarez/go-sqlite", Version: "v1.23.0", SQLite: "3.53.3", Linked: map[string]string{modernc: "v1.57.0"}}, false},
		{"super-journal", defects.Library{Module: mattn, Version: "v1.14.51", SQLite: "3.53.3"}, true},

		{"ncruces-404", defects.Library{Module: ncruces, Version: "v0.20.1"}, false},
		{"ncruces-404", defects.Library{Module: ncruces, Version: "v0.35.2"}, true},
		{"ncruces-404", defects.Library{Module: ncruces, Version: "v0.35.3-0.20260701000000-0123456789ab"}, true},
		{"ncruces-404", defects.Library{Module: ncruces, Version: "v0.35.3"}, false},
		{"ncruces-404", defects.Library{Module: ncruces, Version: "(devel)"}, false},
		{"ncruces-404", defects.Library{Module: mattn, Version: "v0.35.2"}, false},
		{"mattn-681", defects.Library{Module: mattn, Version: "v1.14.53"}, true},
		{"mattn-reprepare", defects.Library{Module: mattn, Version: "v1.14.52"}, false},
		{"mattn-reprepare", defects.Library{Module: mattn, Version: "v1.14.53"}, true},
		{"modernc-264", defects.Library{Module: modernc, Version: "v1.60.1"}, false},
		{"modernc-264", defects.Library{Module: modernc, Version: "v1.61.0"}, true},
		{"modernc-264", defects.Library{Module: modernc, Version: "v1.62.0"}, false},
	} {
		list := defects.Known(c.l)
		if got := slices.ContainsFunc(list, func(d defects.Defect) bool { return d.ID == c.id }); got != c.want {
			t.Errorf("%+v: %s: %v, want %v (%s)", c.l, c.id, got, c.want, ids(list))
		}
	}
}

// TestWorstFirst checks that Known lists the worst defect first, for a library with many defects.
func TestWorstFirst(t *testing.T) {
	list := defects.Known(defects.Library{Module: "crawshaw.io/sqlite", Version: "v0.3.2", SQLite: "3.32.2"})
	if len(list) < 3 || list[0].ID != "wal-reset" || list[len(list)-1].Effect != defects.Security {
		t.Errorf("%s", ids(list))
	}
}

func TestUnmet(t *testing.T) {
	n := defects.Needs{OS: []string{"windows"}, WAL: true, Connections: true}
	for _, c := range []struct {
		use  defects.Use
		want string
	}{
		{defects.Use{}, ""},
		{defects.Use{OS: "windows", WAL: defects.Yes, Connections: defects.Yes}, ""},
		{defects.Use{OS: "linux"}, "os"},
		{defects.Use{OS: "windows", WAL: defects.No, Connections: defects.No}, "wal connections"},
	} {
		if got := strings.Join(n.Unmet(c.use), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.use, got, c.want)
		}
	}
	n = defects.Needs{Arch: []string{"amd64"}, Rollback: true, Cancellation: true}
	if got := strings.Join(n.Unmet(defects.Use{Arch: "arm64", WAL: defects.Yes, Cancels: defects.No}), " "); got != "arch rollback cancellation" {
		t.Errorf("%q", got)
	}
	n = defects.Needs{Words: []string{"count", "distinct"}}
	for text, want := range map[string]string{"": "", "select count(*) from t": "words", "select distinct a": "words", "select count(distinct a)": ""} {
		if got := strings.Join(n.Unmet(defects.Use{Text: text}), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestData checks that every entry is complete: it has a known effect, valid versions in ascending
// order, and sources that are URLs.
func TestData(t *testing.T) {
	version := regexp.MustCompile(`^(|3(\.\d+)+|v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$`)
	seen := map[string]bool{}
	for _, d := range defects.All() {
		if seen[d.ID] || d.ID == "" || strings.ContainsAny(d.ID, " ,") {
			t.Errorf("id %q: empty, twice, or not a word", d.ID)
		}
		seen[d.ID] = true
		if d.Title == "" || d.Means == "" || d.Do == "" || len(d.Affected) == 0 || len(d.Sources) == 0 {
			t.Errorf("%s: something is missing: %+v", d.ID, d)
		}
		if !slices.Contains(effectsByDamage, d.Effect) {
			t.Errorf("%s: unknown effect %q", d.ID, d.Effect)
		}
		if slices.ContainsFunc(d.Needs.Words, func(w string) bool { return w == "" || w != strings.ToLower(w) }) || d.Needs.Words != nil && d.Needs.Other == "" {
			t.Errorf("%s: words %q: want lower case, and the condition in other", d.ID, d.Needs.Words)
		}
		for i, r := range d.Affected {
			for _, v := range []string{r.From, r.Fixed} {
				if !version.MatchString(v) || v != "" && (d.Of == defects.OfSQLite) == strings.HasPrefix(v, "v") {
					t.Errorf("%s: %q is not a version of %s", d.ID, v, d.Of)
				}
			}
			if i > 0 && (d.Affected[i-1].Fixed == "" || r.From == "") {
				t.Errorf("%s: ranges overlap", d.ID)
			}
		}
		for _, s := range d.Sources {
			if u, err := url.Parse(s); err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" {
				t.Errorf("%s: source %q is not an address", d.ID, s)
			}
		}
	}
}

var effectsByDamage = []defects.Effect{defects.Corruption, defects.LostWrites, defects.WrongAnswer, defects.Security, defects.Crash, defects.Withdrawn, defects.Leak, defects.StrayErrors, defects.Slow}

// TestPage checks that docs/defects.md has the text that is generated from defects.json.
func TestPage(t *testing.T) {
	const file = "../../docs/defects.md"
	want := page()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what defects.json says: go test ./internal/defects -update", file)
	}
}

const pageHead = `# Known defects

<!-- Made from internal/defects/defects.json by go test ./internal/defects -update. -->

Defects of SQLite and of drivers' libraries that lose data, give wrong answers or stop a program, and vulnerabilities that can corrupt memory; the worst come first. ` + "`sqlite3perf drivers --defects`" + ` lists those of each driver, by the versions that its worker reports.

Only published defects whose sources we have read are listed. A defect does harm only if everything listed under *Needs* is present. Where nothing is listed under *Do*, use a version without the defect. Nearly all vulnerabilities need SQL or a database file from an attacker ([SQLite on CVEs](https://www.sqlite.org/cves.html)).

For [SQLite](https://www.sqlite.org/changes.html) and [modernc.org/sqlite](https://gitlab.com/cznic/sqlite/-/blob/master/CHANGELOG.md), the release notes of the first version without the defect are another source.

`

// page returns the text that docs/defects.md must have.
func page() string {
	list := defects.All()
	slices.SortStableFunc(list, func(a, b defects.Defect) int {
		if a.Of != b.Of {
			if a.Of == defects.OfSQLite {
				return -1
			}
			if b.Of == defects.OfSQLite {
				return 1
			}
			return cmp.Compare(a.Of, b.Of)
		}
		return cmp.Compare(slices.Index(effectsByDamage, a.Effect), slices.Index(effectsByDamage, b.Effect))
	})
	var b strings.Builder
	b.WriteString(pageHead)
	of := ""
	for i, d := range list {
		if d.Of != of {
			if i > 0 {
				b.WriteString("\n")
			}
			of = d.Of
			title := of
			if of == defects.OfSQLite {
				title = "SQLite"
			}
			fmt.Fprintf(&b, "## %s\n", title)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s (%s): %s. %s\n\n", d.ID, sentence(string(d.Effect)), versions(d), d.Title, d.Means)
		fmt.Fprintf(&b, "- Needs: %s\n", needs(d.Needs))
		if !onlyUpdate(d) {
			fmt.Fprintf(&b, "- Do: %s\n", d.Do)
		}
		for _, p := range d.Patched {
			fmt.Fprintf(&b, "- %s has its own fix from %s on.\n", p.Module, p.From)
		}
		var links []string
		for _, s := range d.Sources {
			if !releaseNotes(d, s) {
				links = append(links, "<"+s+">")
			}
		}
		if links != nil {
			fmt.Fprintf(&b, "- Sources: %s\n", strings.Join(links, ", "))
		}
	}
	return b.String()
}

// releaseNotes reports whether a source is the changelog of modernc.org/sqlite, or SQLite's release notes for
// a version without the defect. Entries do not list these sources, because the head of the page names them.
func releaseNotes(d defects.Defect, source string) bool {
	return source == "https://gitlab.com/cznic/sqlite/-/blob/master/CHANGELOG.md" || slices.ContainsFunc(d.Affected, func(r defects.Range) bool {
		return source == "https://www.sqlite.org/releaselog/"+strings.ReplaceAll(r.Fixed, ".", "_")+".html"
	})
}

// onlyUpdate reports whether d.Do only says to use a version without the defect. The page leaves out such a
// text, because the ranges of versions say the same.
func onlyUpdate(d defects.Defect) bool {
	version := strings.TrimPrefix(strings.TrimPrefix(d.Do, "Use "), "SQLite ")
	return version == d.Affected[len(d.Affected)-1].Fixed+" or newer."
}

func sentence(s string) string {
	if strings.HasPrefix(s, "concat_ws") || s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// versions describes the ranges of versions that have the defect d.
func versions(d defects.Defect) string {
	var list []string
	for _, r := range d.Affected {
		switch {
		case r.From == "" && r.Fixed == "":
			list = append(list, "all")
		case r.From == "":
			list = append(list, "before "+r.Fixed)
		case r.Fixed == "":
			list = append(list, "from "+r.From)
		default:
			list = append(list, r.From+" to before "+r.Fixed)
		}
	}
	return strings.Join(list, "; ")
}

func needs(n defects.Needs) string {
	var words []string
	if n.OS != nil {
		words = append(words, strings.Join(n.OS, " or "))
	}
	if n.Arch != nil {
		words = append(words, strings.Join(n.Arch, " or "))
	}
	if n.WAL {
		words = append(words, "journal_mode=wal")
	}
	if n.Rollback {
		words = append(words, "another journal_mode than wal")
	}
	if n.Connections {
		words = append(words, "more than one connection")
	}
	if n.Cancellation {
		words = append(words, "contexts that are canceled or have a deadline")
	}
	if n.Other != "" {
		words = append(words, n.Other)
	}
	if words == nil {
		return "nothing more."
	}
	return strings.Join(words, "; ") + "."
}
