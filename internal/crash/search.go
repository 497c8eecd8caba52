package crash

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// Found is the result of [Search]: the first release that differs from the oldest release.
type Found struct {
	Releases    []string     `json:"releases"`          // oldest first
	Good        string       `json:"good"`              // the last release that is like the oldest release
	Bad         string       `json:"bad,omitempty"`     // the first release that differs from the oldest release; "" if there is none
	Between     []string     `json:"between,omitempty"` // releases between Good and Bad, which could not be explored
	Missing     []Missing    `json:"missing,omitempty"` // releases that could not be explored
	Explored    []string     `json:"explored"`
	Differences []Difference `json:"differences,omitempty"` // differences between Good and Bad
}

// Missing is a release that could not be explored.
type Missing struct {
	Release string `json:"release"`
	Why     string `json:"why"`
}

// Difference is what differs between two releases with one combination of settings.
type Difference struct {
	Settings string `json:"settings"`
	Before   string `json:"before"`
	After    string `json:"after"`
}

// Search explores releases, of which the first is the oldest, and finds the first release that
// differs from the oldest release. It halves the range, so it explores about log₂ n of n releases.
// It does not compare the newest release first, because the newest may be like the oldest again
// although releases between them differ. The function "explore" returns what survives with a
// release. Its error means that the release can't be explored, unless ctx has ended.
func Search(ctx context.Context, releases []string, explore func(ctx context.Context, release string) (*Crashes, error)) (*Found, error) {
	oldest, err := explore(ctx, releases[0])
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s: %s", releases[0], err.Error())
	}
	f := &Found{Releases: releases, Explored: []string{releases[0]}}
	good, bad := 0, len(releases)
	last, first := oldest, (*Crashes)(nil) // the answers for the releases good and bad
	var open []int                         // releases between good and bad that have not been tried
	for i := range releases[1:] {
		open = append(open, i+1)
	}
	for len(open) > 0 {
		middle := len(open) / 2
		i := open[middle]
		c, err := explore(ctx, releases[i])
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			f.Missing = append(f.Missing, Missing{releases[i], err.Error()})
			open = slices.Delete(open, middle, middle+1)
			continue
		case len(differences(oldest, c)) > 0:
			bad, first, open = i, c, open[:middle]
		default:
			good, last, open = i, c, open[middle+1:]
		}
		f.Explored = append(f.Explored, releases[i])
	}
	f.Good = releases[good]
	if bad < len(releases) {
		f.Bad, f.Between = releases[bad], releases[good+1:bad]
		f.Differences = differences(last, first)
	}
	return f, nil
}

// differences returns what differs between the answers for two releases of one driver.
func differences(a, b *Crashes) (list []Difference) {
	for i := range b.Cells {
		after := &b.Cells[i]
		k := slices.IndexFunc(a.Cells, func(c Cell) bool { return c.Own == after.Own && a.name(&c) == b.name(after) || c.Own && after.Own })
		if k < 0 {
			continue
		}
		var before, now []string
		x, y := facts(a, &a.Cells[k]), facts(b, after)
		for n := range y {
			if n < len(x) && x[n] != y[n] {
				before, now = append(before, x[n]), append(now, y[n])
			}
		}
		if now != nil {
			list = append(list, Difference{b.name(after), strings.Join(before, ", "), strings.Join(now, ", ")})
		}
	}
	return list
}

// facts returns the facts by which two cells are compared: the settings, what a transaction costs, and
// what survives. How many states are broken, and how many transactions are lost at most, depends on
// chance, so these numbers are left out.
func facts(c *Crashes, k *Cell) (list []string) {
	if k.Reason != "" {
		return []string{"no result: " + document.Line(k.Reason)}
	}
	list = []string{
		document.Line(k.InForce["journal_mode"] + " " + k.InForce["synchronous"]),
		k.syncs() + " syncs", perTransaction(k, k.Cost.DirSyncs) + " dir syncs", perTransaction(k, k.Cost.Writes) + " writes",
	}
	for _, f := range c.Faults {
		if o := k.Results[f]; o != nil {
			words := gradeWords[o.Grade()]
			if o.Trouble != "" {
				words += ", disturbed"
			}
			list = append(list, f.title()+": "+words)
		}
	}
	return list
}

// Answer says which release changed something.
func (f *Found) Answer() string {
	switch {
	case f.Bad == "":
		return fmt.Sprintf("Nothing changed from %s to %s: what survives, and the numbers of syncs and writes, are the same.", document.Line(f.Releases[0]), document.Line(f.Good))
	case len(f.Between) > 0:
		return fmt.Sprintf("Something changed after %s, with %s or with one of %s before it.", document.Line(f.Good), document.Line(f.Bad), document.Counted(len(f.Between), "release"))
	}
	return fmt.Sprintf("Something changed between %s and %s. No release between the two is listed here.", document.Line(f.Good), document.Line(f.Bad))
}

// FoundFormats are the output formats of a search.
var FoundFormats = document.Question[*Found]{Name: "crash", Document: foundDocument, Title: "Which release changed what survives",
	JSON: func(f *Found) any {
		return struct {
			Version int    `json:"version"`
			Answer  string `json:"answer"`
			*Found
		}{1, f.Answer(), f}
	}}.Formats()

func foundDocument(f *Found, _ document.Options) document.Document {
	d := document.Document{document.Paragraph{Text: f.Answer()}}
	if f.Differences != nil {
		d = append(d, document.Space{}, document.GridOf(f.Differences,
			document.Words("settings", func(x Difference) string { return x.Settings }),
			document.Words(document.Line(f.Good), func(x Difference) string { return x.Before }),
			document.Words(document.Line(f.Bad), func(x Difference) string { return x.After })))
	}
	list := document.List{{Label: "explored", Text: document.Join(f.Explored, ", ", document.Line)}}
	for _, m := range f.Missing {
		list.Note(document.Item{Label: "missing", Text: document.Line(m.Release) + ": " + document.Line(m.Why), Alarm: true})
	}
	return append(d, document.Space{}, list)
}
