package imitate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// moment is a time that is stored as text, such as 2024-05-01 or 2024-05-01T12:00:00. It may also have
// fractions of a second and a time zone.
type moment struct {
	at       int64  // milliseconds since the Unix epoch, as if the zone were UTC
	clock    string // " " or "T" if there is a time of day
	fraction int    // digits of the fraction of a second
	zone     string // the zone as written in the text
}

// momentText matches the text of a moment. Its groups are the day, the character before the time of day, the
// time of day, the digits of the fraction and the zone.
var momentText = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:([ T])(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z| \+0000 UTC|[-+]\d\d:\d\d)?)?$`)

func momentOf(text string) (m moment, ok bool) {
	if len(text) < 10 || text[4] != '-' { // this quick check excludes most texts
		return m, false
	}
	parts := momentText.FindStringSubmatch(text)
	if parts == nil {
		return m, false
	}
	at, err := time.Parse(time.DateTime, parts[1]+" "+cmp.Or(parts[3], "00:00:00"))
	return moment{at.UnixMilli(), parts[2], len(parts[4]), parts[5]}, err == nil
}

// String returns the text of the moment, with zeros for the fraction.
func (m moment) String() string {
	text := time.UnixMilli(m.at).UTC().Format(time.DateOnly + " " + time.TimeOnly)
	if m.clock == "" {
		return text[:10]
	}
	text = text[:10] + m.clock + text[11:]
	if m.fraction > 0 {
		text += "." + strings.Repeat("0", m.fraction)
	}
	return text + m.zone
}

// month returns the beginning of the moment's month.
func (m moment) month() moment {
	t := time.UnixMilli(m.at).UTC()
	m.at = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return m
}

// momentStats has statistics of a column's texts. It counts texts as long as all of them are moments of
// the same form. The first text with another form ends the counting.
type momentStats struct {
	form moment // form of the texts: "clock" and "zone" are the same in all texts, and "fraction" is the longest fraction; "at" is not used
	classStats
}

func (s *momentStats) add(text string) {
	m, ok := momentOf(text)
	if !ok || s.n > 0 && (m.clock != s.form.clock || m.zone != s.form.zone) {
		return
	}
	m.fraction = max(m.fraction, s.form.fraction)
	s.form = m
	s.number(m.at)
}

const (
	second = 1000 // milliseconds
	day    = 24 * 60 * 60 * second
)

// unit returns the smallest difference between two moments whose texts are different.
func (s *momentStats) unit() int64 {
	if s.form.clock == "" {
		return day
	}
	return second
}

// isMoments reports whether all texts of a column are moments of the same form.
func (s *columnStats) isMoments() bool { return s.moments.n > 0 && s.moments.n == s.class[texts].n }

// moments returns the generator of a column whose texts are moments of one form. It generates times
// in this form.
func (b *builder) moments(d *dataSet, c *column) generated {
	t, st := d.table, &c.stats
	m, s := &st.moments, &st.class[texts]
	bounds := b.anonymousMoments(m, []int64{m.low, m.high})
	low, spread, unit := bounds[0], bounds[1]-bounds[0], m.unit()
	apart := func(n int64) int64 { return max(unit, spread/max(1, n-1)/unit*unit) }
	n := s.distinct.values()
	var at generated
	switch {
	case c.unique && (d.more || st.ascends() && (!t.noRowid || c.key == 0 || t.packed)):
		at = d.serial(low, apart(t.rows))
	case c.unique:
		at = generated{kind: "shuffle", value: fmt.Sprintf("[%d, %[1]d + %d * ($%s - 1)]", low, apart(t.rows), t.set), also: []string{fmt.Sprintf("step: %d", apart(t.rows))}}
	case st.ascends() && !st.several():
		if d.more {
			low += spread
		}
		at = generated{kind: "serial", value: fmt.Sprint(low), also: []string{fmt.Sprintf("step: %d", spread), "every: $" + t.set}}
	case n > 1 && n < s.n/2 && spread >= unit*(n-1):
		at = b.fromFew(t, c, s, generated{kind: "shuffle", value: fmt.Sprintf("[%d, %d]", low, low+apart(n)*(n-1)), also: []string{fmt.Sprintf("step: %d", apart(n))}})
	default:
		at = generated{kind: "int", value: list(b.anonymousMoments(m, quantiles(m.numbers.sample, intervals)))}
		if n < s.n/2 {
			at = b.fromFew(t, c, s, at)
		}
	}
	return m.written(at, d.helper(c))
}

// written converts a generator of times in milliseconds to a generator of texts. The function "help"
// adds a hidden column to the data set.
func (s *momentStats) written(at generated, help func(suffix string, g generated) string) generated {
	name := help("at", at)
	format, of := "%F", name
	if s.form.clock != "" {
		format, of = format+s.form.clock+"%T", of+", "+name
	}
	if n := s.form.fraction; n > 0 {
		format += fmt.Sprintf(".%%0%dd", n)
		of += ", " + help("fraction", generated{kind: "int", value: "[0, " + strings.Repeat("9", n) + "]"})
	}
	return generated{kind: "format", value: yamlText(format + s.form.zone), also: []string{"of: [" + of + "]"}}
}

// anonymousMoments returns times with about the same range and distribution as the times in "list".
// The returned times are rounded, or moved if they are too near each other for rounding. If b.keep
// is true, they are unchanged.
func (b *builder) anonymousMoments(s *momentStats, list []int64) []int64 {
	list = slices.Clone(list)
	if b.keep {
		return list
	}
	grid := int64(0)
	for _, g := range []int64{second, 60 * second, 60 * 60 * second, day, 30 * day} {
		if g >= s.unit() && g <= (s.high-s.low)/50 {
			grid = g
		}
	}
	first := moment{at: s.low}.month().at
	for i, x := range list {
		if grid > 0 {
			list[i] = x - (x%grid+grid)%grid
		} else {
			list[i] = first + x - s.low
		}
	}
	return list
}

// anonymousTexts returns a replacement for each of a few moments. The replacements have the same order
// as the moments. Each replacement is near the first day of its moment's month. No replacement is equal
// to one of the moments.
func (s *momentStats) anonymousTexts(values []string) map[string]string {
	names := map[string]string{}
	last := int64(-1 << 62)
	for _, v := range slices.Sorted(slices.Values(values)) {
		m, _ := momentOf(v)
		m = m.month()
		for m.at = max(m.at, last+day); slices.Contains(values, m.String()); {
			m.at += day
		}
		last, names[v] = m.at, m.String()
	}
	return names
}
