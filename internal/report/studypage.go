package report

import (
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// pageStudy returns the claims of a study, and its tables as pictures of published and measured
// figures.
func (s scope) pageStudy(r *Study) document.Document {
	d := append(claims(r), studyTitle(r)...)
	for i := range r.Tables {
		t := studyTable(&r.Tables[i]) // a heading and a grid
		d = append(d, t[0])
		if pictures := s.studyPictures(&r.Tables[i]); pictures != nil {
			d = append(d, document.Blocks(pictures)...)
			d = append(d, document.Details{Title: "The whole table", Body: t[1:]})
		} else {
			d = append(d, t[1:]...)
		}
		d = append(d, studyNotes(r, &r.Tables[i]))
	}
	d = append(d, studyRest(s.a, r)...)
	d = append(d, conditions.AllCompileOptions(s.a))
	d = append(d, document.Heading{Level: 2, Text: "Samples"})
	for _, g := range s.a.Groups {
		samples := conditions.CasesOf(g.Outcomes, g.Tables, true)
		samples.Title = strings.TrimSpace(g.Workload + " " + g.Variant())
		d = append(d, samples)
	}
	return d
}

// studyPictures returns pictures that show a table's published figures next to the measured
// figures.
func (s scope) studyPictures(t *StudyTable) (list []document.PictureBlock) {
	for _, columns := range t.beside() {
		for _, rows := range t.parts() {
			if p, ok := s.studyPicture(t, columns, rows); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// parts divides the rows of a table into lists, one for each picture. Rows with the same first
// label stay together if there are not too many.
func (t *StudyTable) parts() (list [][]StudyRow) {
	var alike conditions.Groups[string, StudyRow]
	for _, row := range t.Rows {
		alike.Add(row.Labels[0], row)
	}
	var part []StudyRow
	for _, key := range alike.Keys {
		rows := alike.Of[key]
		if len(part) > 0 && len(part)+len(rows) > maxGroups {
			list, part = append(list, part), nil
		}
		part = append(part, rows...)
		for len(part) > maxGroups {
			list, part = append(list, part[:maxGroups]), part[maxGroups:]
		}
	}
	return append(list, part)
}

const maxGroups = 24

// beside returns lists of column indexes, one list for each picture: published columns, then the
// measured column to compare with them.
func (t *StudyTable) beside() (list [][]int) {
	var published []int
	for i, c := range t.Columns {
		switch {
		case c.Published:
			published = append(published, i)
		case published != nil && (c.Statistic == "median" || c.Statistic == "mean"):
			var columns []int
			for _, p := range published {
				if _, ok := convert(1, t.Columns[p].Unit, c.Unit); ok && t.Columns[p].Statistic != "standard deviation" {
					columns = append(columns, p)
				}
			}
			if columns != nil {
				list = append(list, append(columns, i))
			}
			published = nil
		}
	}
	return list
}

var inSeconds = map[string]float64{"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}

func convert(v float64, from, to string) (float64, bool) {
	if from == to {
		return v, true
	}
	a, b := inSeconds[from], inSeconds[to]
	return v * a / b, a > 0 && b > 0
}

func (s scope) studyPicture(t *StudyTable, columns []int, rows []StudyRow) (p document.PictureBlock, ok bool) {
	unit := t.Columns[columns[len(columns)-1]].Unit
	var list []chart.Group
	for _, row := range rows {
		g := chart.Group{Name: strings.Join(row.Labels, " ")}
		any := false
		for _, i := range columns {
			f, c := row.Figures[i], t.Columns[i]
			b := chart.Bar{Name: c.Title, Reason: f.Text}
			switch {
			case f.Value != nil:
				b.Value, _ = convert(*f.Value, c.Unit, unit)
				b.Text, any = significant(b.Value), true
				if f.Interval != nil {
					b.Low, _ = convert(f.Interval.Low, c.Unit, unit)
					b.High, _ = convert(f.Interval.High, c.Unit, unit)
				}
				if f.N > 0 {
					b.Tip = document.Counted(int64(f.N), "sample")
				}
			case f.Text == "":
				b.Reason = "no figure"
			}
			if f.Case > 0 {
				b.Link = s.link(f.Case, f.Phase)
			}
			g.Bars = append(g.Bars, b)
		}
		if any {
			list = append(list, g)
		}
	}
	if list == nil {
		return document.PictureBlock{}, false
	}
	title := t.Title
	if len(rows) < len(t.Rows) {
		title += ": " + t.Labels[0] + " " + rows[0].Labels[0]
		if last := rows[len(rows)-1].Labels[0]; last != rows[0].Labels[0] {
			title += " to " + last
		}
	}
	if len(t.beside()) > 1 {
		title += ", " + t.Columns[columns[len(columns)-1]].Title
	}
	return document.PictureBlock{Picture: document.Picture{Name: document.Slug(title), Title: title, Kind: document.KindStudy,
		Plot: &chart.Grouped{Axis: chart.Axis{Label: unit, Format: document.Human}, Groups: list}}}, true
}
