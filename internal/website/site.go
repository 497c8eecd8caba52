// Package website writes a store as static pages: a list of the runs, a page and the figures of each
// run, for each driver a page with its releases, and badges. The pages have relative links, and need
// no server and no script.
//
// Nothing in a store is trusted. Names reach a page only through package document, and no text of a
// store becomes part of a file's name, except as [document.Slug] writes it.
package website

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// Options say what a site is made of.
type Options struct {
	Floor string // name of the driver that is plain C

	// Builder identifies the program that writes the site. If it is another one than the last time, all
	// pages are rendered again.
	Builder string

	// Describe returns the options of a run's report.
	Describe func(*stats.Analysis) report.Options

	// Answer writes the stored answer of a run as a page, and returns the answer's first sentences. It
	// returns "" if the run has no answer.
	Answer func(ctx context.Context, w io.Writer, a *stats.Analysis, o document.Options) (string, error)
}

// Written says what [Write] did.
type Written struct {
	Runs    int // number of runs in the site
	Files   int // number of all files of the site
	Changed int // number of files that were written, because they are new or have changed
	Removed int
	Bytes   int64 // size of all files
	Entries []store.Entry
}

// Write writes the site of a store to a directory. It renders only runs that have changed since the
// last time, and writes only files whose content has changed.
func Write(ctx context.Context, st *store.Store, dir string, o Options) (w Written, err error) {
	entries, err := st.List(ctx)
	if err != nil {
		return w, err
	}
	f, err := openFiles(dir)
	if err != nil {
		return w, err
	}
	defer f.close()
	b := &builder{Options: o, st: st, files: f}
	for i := range entries {
		if err := b.run(ctx, &entries[i]); err != nil {
			return w, err
		}
	}
	if err := b.pages(entries); err != nil {
		return w, err
	}
	if err := f.finish(); err != nil {
		return w, err
	}
	return Written{len(entries), len(f.kept), f.changed, f.removed, f.bytes, entries}, nil
}

type builder struct {
	Options
	st    *store.Store
	files *files

	rendered int        // number of runs rendered in this call
	facts    []*JSONRun // of the runs that are not damaged, in the order of their numbers
}

// run writes the page and the figures of a run, unless they are there.
func (b *builder) run(ctx context.Context, e *store.Entry) error {
	if e.Damaged != "" {
		return nil
	}
	key, err := b.key(ctx, e)
	if err != nil {
		return err
	}
	page, figures := pageOf(e.ID), figuresOf(e.ID)
	if data := b.files.unchanged(key, page, figures); data != nil {
		if f := readFacts(data); f != nil {
			b.facts = append(b.facts, f)
			return nil
		}
	}
	run, err := b.st.Load(ctx, e.ID)
	if err != nil {
		e.Damaged = err.Error()
		return ctx.Err()
	}
	a := stats.Analyze(run, b.Floor)
	opts := b.Describe(a)
	opts.Brief = true
	f := factsOf(a, opts)
	opts.Assets, opts.Links = "../assets/", []document.Reference{toIndex("../"), {Title: "Figures as JSON", Address: fmt.Sprintf("%d.json", e.ID)}}
	var html bytes.Buffer
	opts.Source = conditions.PageSource(run)
	says, err := b.Answer(ctx, &html, a, opts.Options)
	if err == nil && says != "" {
		f.Question, f.Answer = run.Answer.Question, says
	} else {
		html.Reset()
		if err = report.Write(&html, "html", a, opts); err != nil {
			e.Damaged = err.Error()
			return ctx.Err()
		}
	}
	data, err := json.Marshal(f)
	if err = cmp.Or(ctx.Err(), err); err != nil { // a page that was made while ctx ended may lack something
		return err
	}
	b.facts = append(b.facts, f)
	if err := b.files.put(page, html.Bytes()); err != nil {
		return err
	}
	if err := b.files.put(figures, append(data, '\n')); err != nil {
		return err
	}
	b.files.remember(key, page, figures)
	if b.rendered++; b.rendered%100 == 0 { // so that a call after a kill does not begin again
		return b.files.write(manifestName, b.files.manifest())
	}
	return nil
}

// key identifies the content of a run and the program that renders it.
func (b *builder) key(ctx context.Context, e *store.Entry) (string, error) {
	extent, err := b.st.Extent(ctx, e.ID)
	if err != nil {
		return "", err
	}
	return directory.Sum(fmt.Appendf(nil, "%d %q %q %v", FiguresVersion, b.Builder, extent.Last.UTC(), extent)), nil
}

func pageOf(run int64) string { return fmt.Sprintf("runs/%d.html", run) }

func figuresOf(run int64) string { return fmt.Sprintf("runs/%d.json", run) }

func toIndex(base string) document.Reference {
	return document.Reference{Title: "All runs", Address: base + "index.html"}
}

// pages writes everything that is made of several runs.
func (b *builder) pages(entries []store.Entry) error {
	drivers := b.drivers()
	for _, d := range drivers {
		if err := b.page(d.page(), "Driver", "../", d.document()); err != nil {
			return err
		}
		if err := b.files.put(d.badge(), []byte(d.badgeImage())); err != nil {
			return err
		}
	}
	if err := b.page("trends.html", "Trends", "", trendsDocument(drivers)); err != nil {
		return err
	}
	if err := b.page("index.html", "Runs", "", indexDocument(entries, b.facts, drivers)); err != nil {
		return err
	}
	return fs.WalkDir(document.Assets, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "page.html" {
			return err
		}
		data, err := fs.ReadFile(document.Assets, name)
		if err != nil {
			return err
		}
		return b.files.put("assets/"+name, data)
	})
}

// page writes a page. base is the relative address of the site's directory.
func (b *builder) page(name, kind, base string, d document.Document) error {
	opts := document.Options{Assets: base + "assets/"}
	if name != "index.html" {
		opts.Links = []document.Reference{toIndex(base)}
	} else {
		opts.Links = []document.Reference{{Title: "Trends", Address: "trends.html"}}
	}
	var html bytes.Buffer
	if err := document.RenderHTML(&html, d, kind, opts); err != nil {
		return err
	}
	return b.files.put(name, html.Bytes())
}

// newestFirst returns the facts of the runs, the run that started last first.
func newestFirst(list []*JSONRun) []*JSONRun {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *JSONRun) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Run, a.Run))
	})
	return list
}
