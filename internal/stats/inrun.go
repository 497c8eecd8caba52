package stats

import "slices"

// InRun is the comparison of two drivers in the report of their run. It has the same test, and the same
// correction for many comparisons, as that report.
type InRun struct {
	Test
	Ratio Summary // second driver's time divided by the first driver's, with the interval that the report of the run has
}

// Likely returns 1 if the second side is probably slower than the first, -1 if it is probably
// faster, and 0 otherwise. A difference is probable if its p-value is below [Alpha]. The p-value is
// the result of [Compared.ShownP]. If the field InRun is set, the same p-value decides the ranks in
// the run's report. A clear difference, for which the verdict is slower or faster, is also probable.
func (x *Compared) Likely() int {
	switch ratio := x.ShownRatio(); {
	case !x.Measured() || !(x.ShownP() < Alpha):
	case x.InRun != nil:
		return x.InRun.Sign()
	case ratio.Median > 1:
		return 1
	case ratio.Median < 1:
		return -1
	}
	return 0
}

// ShownRatio returns the ratio that is shown to people. If the field InRun is set, it is the ratio in
// the report of the run, so that the comparison and the report agree.
func (x *Compared) ShownRatio() Summary {
	if x.InRun != nil {
		return x.InRun.Ratio
	}
	return x.Ratio
}

// ShownP returns the p-value that belongs to [Compared.ShownRatio].
func (x *Compared) ShownP() float64 {
	if x.InRun != nil {
		return x.InRun.Adjusted
	}
	return x.Adjusted
}

// findInRun sets the field InRun of each cell whose two sides have a rank in the same table of the run.
func (c *Comparison) findInRun(a *Analysis) {
	for _, t := range a.Tables() {
		at := func(of *Cell) int {
			return slices.IndexFunc(t.Cells, func(x *Cell) bool { return x.Case == of.Case })
		}
		for _, x := range c.Cells {
			if x.Phase != t.Phase || x.Verdict != "" {
				continue
			}
			first, second := at(x.First), at(x.Second)
			if test, ok := t.Against(second, first); ok {
				x.InRun = &InRun{test, t.Ratio(Pair{First: second, Second: first})}
			}
		}
	}
}
