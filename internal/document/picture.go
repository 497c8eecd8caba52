package document

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Picture is a chart that can be drawn in any width.
type Picture struct {
	Name   string // name by which a user requests the picture; unique within a run
	Title  string
	Note   string // how to read the picture; "" if that is obvious
	Kind   Kind
	Marks  []string        // what the marks in names mean, such as "! marks …"; the note also has these sentences
	Source string          // the run, its date and its machine, for a picture that is saved as a file
	Of     stats.TableName // table that the picture shows; Phase is "" for several phases, Workload is "" for the entire run

	// Confidence is the level of the intervals in the picture, such as 0.95; 0 if it is not known.
	Confidence float64

	Plot chart.Chart // the picture without its title
}

// Chart returns the picture with its title, width pixels wide; 0 means the plot's default width.
func (p Picture) Chart(width int) chart.Chart {
	return chart.Titled{Chart: p.Plot, Title: p.Title, Width: width}
}

// File returns the picture for a separate file: what [Picture.Chart] returns, with the legend and the
// source below.
func (p Picture) File(width int) chart.Chart {
	return chart.Titled{Chart: p.Plot, Title: p.Title, Width: width, Legend: p.Legend(), Source: p.Source}
}

// Legend has a sentence for each mark, such as !, that follows drivers' names in the picture. If the
// picture shows intervals, Legend also has a sentence about them.
func (p Picture) Legend() []string {
	list := slices.Clone(p.Marks)
	words := chart.Intervals(p.Plot)
	switch {
	case words == "":
		return list
	case p.Confidence > 0:
		return append(list, fmt.Sprintf("%s show %s confidence intervals.", Upper(words), Percent(p.Confidence)))
	}
	return append(list, Upper(words)+" show confidence intervals.")
}

// Kind says what a picture shows.
type Kind string

// The kinds of pictures.
const (
	KindSummary  Kind = "summary"  // time of the drivers over all tables
	KindRatios   Kind = "ratios"   // ratio of each driver in each table
	KindRanking  Kind = "ranking"  // ranking of the drivers in a table
	KindLatency  Kind = "latency"  // latency by percentile
	KindScaling  Kind = "scaling"  // throughput by a number, such as the number of clients
	KindSettings Kind = "settings" // combinations of settings, as a heat map
	KindErrors   Kind = "errors"   // errors of operations, and the time lost by them
	KindSamples  Kind = "samples"  // samples in the order in which they were measured
	KindMemory   Kind = "memory"
	KindTradeoff Kind = "tradeoff" // time of the drivers over all tables, against their memory
	KindProfile  Kind = "profile"  // where the time goes
	KindStudy    Kind = "study"    // published and measured figures, side by side
)

func (d Document) Pictures() (list []Picture) {
	d.eachPicture(func(p *Picture) { list = append(list, *p) })
	return list
}

// PictureID returns the identifier of a picture in a page.
func PictureID(name string) string { return "picture-" + name }

// PictureBlock is a picture in a document. Only pages show it.
type PictureBlock struct {
	Picture
	Behind Document // blocks in closed details below the picture, such as its figures; nil: a table of the chart's figures
	Fold   string   // title of the closed details that hold Behind; "" means "Figures"
	Headed bool     // the heading above the picture serves as its title
	Aside  bool     // the picture has no narrow version; readers scroll it on a phone
}

// Blocks returns a document that consists of the given pictures.
func Blocks(pictures []PictureBlock) (d Document) {
	for _, p := range pictures {
		d = append(d, p)
	}
	return d
}

// UniqueNames renames pictures of d so that each has a unique name, and returns d. The map "taken"
// has the names that are already used; UniqueNames adds the new names to it.
func UniqueNames(d Document, taken map[string]bool) Document {
	return d.eachPicture(func(p *Picture) {
		base := p.Name
		for n := 2; taken[p.Name]; n++ {
			p.Name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[p.Name] = true
	})
}

// WithSource sets the source of all pictures of d, and returns d.
func WithSource(d Document, source string) Document {
	return d.eachPicture(func(p *Picture) { p.Source = source })
}

// WithConfidence sets the level of the intervals in all pictures of d, and returns d.
func WithConfidence(d Document, level float64) Document {
	return d.eachPicture(func(p *Picture) { p.Confidence = level })
}

// eachPicture calls f for each picture of d, in order, so that f can change the picture. It changes
// d itself, and returns d.
func (d Document) eachPicture(f func(*Picture)) Document {
	for i, b := range d {
		switch b := b.(type) {
		case PictureBlock:
			f(&b.Picture)
			b.Behind = b.Behind.eachPicture(f)
			d[i] = b
		case Details:
			b.Body = b.Body.eachPicture(f)
			d[i] = b
		}
	}
	return d
}
