package stats

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

type keyed struct {
	key  string // the same for the two cells that are compared; begins with the workload's hash
	name TableName
	cell *Cell
}

// Unlike is a workload that both sides have, with cells in which they do different work. These
// cells are not compared.
type Unlike struct {
	Workload string
	What     string   // what differs: "text", "scale", or "settings or parameters"
	Cells    []string // names of the cells that do different work; Comparison.Alone has them too
}

// unlike records that two cells of the same name, one from each side, do different work. If it is
// not known what differs, it records nothing.
func (c *Comparison) unlike(first, second keyed) {
	a, b := first.cell.Case, second.cell.Case
	u := Unlike{Workload: first.name.Workload, What: "settings or parameters"}
	switch {
	case a.WorkloadSHA256 == "" || b.WorkloadSHA256 == "":
		return
	case a.WorkloadSHA256 != b.WorkloadSHA256:
		u.What = "text"
	case a.Scale != b.Scale:
		u.What = "scale"
	}
	i := slices.IndexFunc(c.Unlike, func(x Unlike) bool { return x.Workload == u.Workload && x.What == u.What })
	if i < 0 {
		i = len(c.Unlike)
		c.Unlike = append(c.Unlike, u)
	}
	c.Unlike[i].Cells = append(c.Unlike[i].Cells, first.name.String())
}

// cells returns the cells in which a factor has the given value, each with a key. The parameter "by" names
// the factor. If the parameter "value" is "", it returns all cells. A cell of one side is compared with the
// cell of the other side that has the same key. The key has everything in which the two cells must agree.
func (a *Analysis) cells(value string, by *result.Compares) []keyed {
	var list []keyed
	follows := poolFollows(a.Run.Cases)
	for g, t := range a.Tables() {
		for _, c := range t.Cells {
			if value != "" && by.Value(c.Case) != value {
				continue
			}
			settings, parameters, driver := maps.Clone(c.Case.Settings), maps.Clone(c.Case.Parameters), c.Case.Driver
			name := TableName{Workload: g.Workload, Phase: t.Phase}
			var varied []string
			for _, v := range g.Varied {
				if by == nil || v.Name != by.Name {
					varied = append(varied, v.String())
				}
			}
			switch {
			case by == nil:
				varied = append(varied, driver)
			case by.Factor == result.FactorDriver:
				driver = ""
			case by.Factor == result.FactorSetting:
				delete(settings, by.Name)
			case by.Factor == result.FactorParameter:
				if delete(parameters, by.Name); follows {
					delete(settings, poolSize)
					varied = slices.DeleteFunc(varied, func(s string) bool { return strings.HasPrefix(s, poolSize+"=") })
				}
			}
			name.Variant = strings.Join(varied, " ")
			key := fmt.Sprintf("%s %q %q %v %q %q %q", c.Case.WorkloadSHA256, c.Case.Workload, c.Case.Scale, parameters, settings, driver, t.Phase)
			list = append(list, keyed{key, name, c})
		}
	}
	return list
}

// poolSize is the setting for the size of the connection pool. Unless it is set, the size follows
// from the number of clients of the workload.
const poolSize = "pool_size"

// poolFollows reports whether the size of the pool follows from other parameters or settings of a case, such
// as a parameter for the number of clients. If it does not, several sizes were requested, and the size is a
// factor itself.
func poolFollows(cases []result.Case) bool {
	sizes := map[string]string{}
	for i := range cases {
		c := cases[i]
		size := c.Settings[poolSize]
		c.Settings = maps.Clone(c.Settings)
		delete(c.Settings, poolSize)
		key := fmt.Sprintf("%q %s", c.Driver, groupKey(&c))
		if other, ok := sizes[key]; ok && other != size {
			return false
		}
		sizes[key] = size
	}
	return true
}

// pair adds to c.Cells the cells that both sides have, and to c.Alone the names of the cells that only one side
// has. The parameter "comparable" says whether both sides must have read the same values.
func (c *Comparison) pair(first, second []keyed, comparable bool) {
	other, named := map[string]keyed{}, map[TableName]keyed{}
	for _, k := range second {
		other[k.key], named[k.name] = k, k
	}
	for _, k := range first {
		o, ok := other[k.key]
		if !ok {
			c.Alone = append(c.Alone, k.name.String())
			if o, ok = named[k.name]; ok {
				c.unlike(k, o)
			}
			continue
		}
		delete(other, k.key)
		x := &Compared{TableName: k.name, First: k.cell, Second: o.cell, Metric: c.Metric, P: 1, Adjusted: 1}
		x.checkSides(comparable && k.cell.Case.WorkloadSHA256 == o.cell.Case.WorkloadSHA256)
		if x.Verdict != "" || x.known() {
			c.Cells = append(c.Cells, x)
		}
	}
	for _, k := range second {
		if _, left := other[k.key]; left {
			c.Alone = append(c.Alone, k.name.String())
		}
	}
}

func (x *Compared) checkSides(comparable bool) {
	for _, side := range []*Cell{x.First, x.Second} {
		if side.Status != result.OK {
			x.Verdict = Bad
			return
		}
	}
	if a, b := x.First.checksum(x.Phase), x.Second.checksum(x.Phase); comparable && a != "" && b != "" && a != b {
		among := []string{a, b}
		x.Verdict, x.Why = Differing, fmt.Sprintf("the answers differ: checksums %s and %s", short(a, among), short(b, among))
	}
}

func (c *Cell) checksum(phase string) string {
	if own, _ := c.checksums(phase); len(own) == 1 {
		return own[0]
	}
	return ""
}
