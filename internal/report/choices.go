package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Choice is the best driver for a need that the best of all drivers does not meet.
type Choice struct {
	DatabaseSQL bool     `json:"database_sql"` // the driver is used through database/sql
	WithoutCgo  bool     `json:"without_cgo"`  // the driver needs no C compiler
	Place                // the chosen driver; its ratio is to the best of all, absent if the two are tied
	Tied        []string `json:"tied,omitempty"` // drivers that also meet the need and are tied with this one
}

func (c *Choice) need() string {
	switch {
	case !c.DatabaseSQL:
		return "without cgo"
	case !c.WithoutCgo:
		return "database/sql"
	}
	return "sql, no cgo"
}

func (c *Choice) meets(row *Row) bool {
	return (!c.DatabaseSQL || row.info.Interface == driver.DatabaseSQL) &&
		(!c.WithoutCgo || row.info.Kind.WithoutC())
}

// findChoices finds the best driver for each need. A driver that meets both needs is listed once.
func (r *Ranking) findChoices() (list []Choice) {
	ranked := r.Choices()
	best := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Case == r.Best.Case })
	for _, c := range []Choice{{DatabaseSQL: true}, {WithoutCgo: true}, {DatabaseSQL: true, WithoutCgo: true}} {
		meeting := slices.DeleteFunc(slices.Clone(ranked), func(i int) bool { return !c.meets(&r.Rows[i]) })
		if len(meeting) == 0 || slices.Contains(meeting, best) {
			continue
		}
		first := r.safest(meeting)
		c.Place = *r.place(first, best)
		if r.tied(best, first) {
			c.To, c.Ratio = "", nil
		}
		for _, i := range meeting {
			if i != first && r.tied(first, i) {
				c.Tied = append(c.Tied, r.Rows[i].Name)
			}
		}
		list = slices.DeleteFunc(list, func(other Choice) bool { return other.Case == c.Case })
		list = append(list, c)
	}
	return list
}

// choosable returns the ranking to choose drivers from: the summary or, without a summary, the only
// table. It returns nil if there is neither.
func (s *Answers) choosable(a *stats.Analysis) *Ranking {
	r := s.Overall
	if r == nil && len(s.Tables) == 1 && len(a.Factorials) == 0 {
		r = &s.Tables[0]
	}
	if r == nil || r.Best == nil || a.Run.Compares != nil {
		return nil
	}
	return r
}

func choiceItems(s *Answers) (l document.List) {
	if s.Choices == nil {
		return nil
	}
	l = append(l, document.Item{Label: "the best", Text: s.best.Name + s.best.library(true)})
	for i := range s.Choices {
		c := &s.Choices[i]
		text := c.Name + c.library(false)
		if c.Ratio != nil {
			text += fmt.Sprintf(", %s %s %s", document.Times(c.Ratio.Median), c.To, document.Interval(c.Ratio.Interval))
		} else {
			text += ", tied with " + s.best.Name
		}
		if c.Tied != nil {
			text += "; tied with " + document.AndOthers(c.Tied)
		}
		l = append(l, document.Item{Label: c.need(), Text: text})
	}
	return l
}

// ChoiceLines returns pairs of a need and the best driver for that need, with the driver's ratio
// and ties. The first pair has the best driver of all.
func ChoiceLines(s *Answers) (lines [][2]string) {
	for _, i := range choiceItems(s) {
		lines = append(lines, [2]string{i.Label, i.Text})
	}
	return lines
}

// choicesInShort returns the choices of [choiceItems] in one line.
func choicesInShort(s *Answers) string {
	var words []string
	for i := range s.Choices {
		c := &s.Choices[i]
		of := "tied"
		if c.Ratio != nil {
			of = document.Times(c.Ratio.Median)
		}
		words = append(words, fmt.Sprintf("%s: %s %s", c.need(), c.Name, of))
	}
	return strings.Join(words, "; ")
}

// library describes a driver's library in brackets. If of is set, it also names the library's
// interface.
func (p *Place) library(of bool) string {
	var words []string
	if p.SQLite != "" {
		words = append(words, "SQLite "+p.SQLite)
	}
	if p.Kind != "" {
		words = append(words, string(p.Kind))
	}
	switch {
	case !of || p.Interface == "":
	case p.Interface == driver.Direct:
		words = append(words, "not database/sql")
	default:
		words = append(words, string(p.Interface))
	}
	if words == nil {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}
