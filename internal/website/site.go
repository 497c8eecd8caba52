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
	"runtime"
	"slices"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// Options say what a site is made of.
type Options struct {
	Floor string // name of the driver that is plain C

	// Builder identifies the program that writes the site. If another program wrote the site the
	// last time, all pages are rendered again.
	Builder string

	// Describe returns the options of a run's report. Describe and Answer are called concurrently.
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
	for some := range slices.Chunk(entries, runtime.GOMAXPROCS(0)) {
		if err := b.runs(ctx, some); err != nil {
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
	facts    []*JSONRun // facts about the runs that are not damaged, in the order of the runs' numbers
}

// rendered is the page and the figures of a run.
type rendered struct {
	key     string
	facts   *JSONRun // nil if the run is damaged
	page    []byte   // nil if the files with the page and the figures are up to date
	figures []byte
	err     error
}

// runs writes the pages and the figures of some runs, unless their files are up to date. It
// renders the runs concurrently.
func (b *builder) runs(ctx context.Context, entries []store.Entry) error {
	list := make([]rendered, len(entries))
	var all sync.WaitGroup
	for i := range entries {
		e, r := &entries[i], &list[i]
		if e.Damaged != "" {
			continue
		}
		if r.key, r.err = b.key(ctx, e); r.err != nil {
			break
		}
		if data := b.files.unchanged(r.key, pageOf(e.ID), figuresOf(e.ID)); data != nil {
			if r.facts = readFacts(data); r.facts != nil {
				continue
			}
		}
		all.Go(func() { r.err = b.render(ctx, e, r) })
	}
	all.Wait()
	for i := range list {
		r := &list[i]
		if r.err != nil {
			return r.err
		}
		if r.facts == nil {
			continue
		}
		b.facts = append(b.facts, r.facts)
		if r.page == nil {
			continue
		}
		if err := b.put(r); err != nil {
			return err
		}
	}
	return nil
}

// render makes the page and the figures of a run. If that fails because of the run, it marks the run as
// damaged.
func (b *builder) render(ctx context.Context, e *store.Entry, r *rendered) error {
	run, err := b.st.Load(ctx, e.ID)
	if err != nil {
		e.Damaged = err.Error()
		return ctx.Err()
	}
	a := stats.Analyze(run, b.Floor)
	opts := b.Describe(a)
	opts.Brief = true
	said := report.AnswersOf(a, opts)
	opts.Answers = &said
	f := factsOf(a, said.Text)
	opts.Source, opts.Assets = f.source(), "../assets/"
	opts.Links = []document.Reference{toIndex("../"), {Title: "Figures as JSON", Address: fmt.Sprintf("%d.json", e.ID)}}
	var html bytes.Buffer
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
	if err = cmp.Or(ctx.Err(), err); err != nil { // a page that was made while ctx ended may be incomplete
		return err
	}
	r.facts, r.page, r.figures = f, html.Bytes(), append(data, '\n')
	return nil
}

// put writes the rendered page and figures.
func (b *builder) put(r *rendered) error {
	page, figures := pageOf(r.facts.Run), figuresOf(r.facts.Run)
	if err := b.files.put(page, r.page); err != nil {
		return err
	}
	if err := b.files.put(figures, r.figures); err != nil {
		return err
	}
	b.files.remember(r.key, page, figures)
	if b.rendered++; b.rendered%100 == 0 { // save the manifest, so that the next call continues from here if the process is killed
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

// pages writes the pages and badges that are made from several runs, and the assets.
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

// page writes a page. The parameter "base" is the relative address of the site's directory.
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
