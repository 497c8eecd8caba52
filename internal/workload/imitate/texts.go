package imitate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (b *builder) text(d *dataSet, c *column, s *classStats) generated {
	st := &c.stats
	switch {
	case s.n > 0 && st.document.n == s.n:
		return b.document(d, c, s)
	case c.prose && st.words.distinct.n > 0:
		return b.prose(c)
	case st.isMoments() && (st.few == nil || c.unique):
		return b.moments(d, c)
	case c.unique && !st.several(), st.ascends() && st.distinctive() && !st.several() && st.few == nil:
		return uniqueText(d, c, s)
	case len(st.few) > 0:
		return b.fewTexts(c)
	case st.ascends() && !st.several() && !d.more:
		return ascendingText(d, c, s)
	}
	g := generated{kind: "text", value: lengths(s)}
	if s.distinct.repeated() {
		return b.fromFew(d.table, c, s, g)
	}
	return g
}

// fewTexts returns the generator of a column that has few distinct texts. Each text, or its replacement,
// is as frequent as in the database.
func (b *builder) fewTexts(c *column) generated {
	values := fewOf[string](c)
	slices.SortFunc(values, func(x, y string) int {
		return cmp.Or(cmp.Compare(c.stats.few[y], c.stats.few[x]), strings.Compare(x, y))
	})
	var parts []string
	used := map[string]bool{"": true}
	var moments map[string]string
	if c.stats.isMoments() && !b.keep {
		moments = c.stats.moments.anonymousTexts(values)
	}
	for i, v := range values {
		name := v
		if moments != nil {
			name = moments[v]
		} else if !b.keep || !utf8.ValidString(v) {
			for try := uint64(0); used[name] || name == v && v != ""; try++ {
				name = letters(scramble(uint64(i)*1000+try+1), max(len(v), int(try/200)))
			}
		}
		used[name] = true
		c.call("t"+v, name)
		parts = append(parts, fmt.Sprintf("%s: %d", yamlText(name), c.weight(v)))
	}
	return generated{kind: "choice", value: "{" + strings.Join(parts, ", ") + "}"}
}

// numbered returns the generator of texts of about the right length. Each text contains a number, but begins
// with a letter, so that SQLite does not convert it. The numbers have as many digits as the parameter "most".
// The function "help" adds a hidden column to the data set.
func numbered(s *classStats, most int64, number generated, help func(suffix string, g generated) string) generated {
	width := digits(most)
	n := help("n", number)
	pad := help("pad", generated{kind: "text", value: lessLengths(s, width+1)})
	return generated{kind: "format", value: yamlText(fmt.Sprintf("k%%0%dd%%s", width)), also: []string{"of: [" + n + ", " + pad + "]"}}
}

func digits(n int64) int64 { return int64(len(strconv.FormatInt(n, 10))) }

// uniqueText returns the generator of texts of about the right length. No two texts are equal,
// because each text contains a different number.
func uniqueText(d *dataSet, c *column, s *classStats) generated {
	t := d.table
	width := digits(t.rows)
	ascending := c.stats.ascends() && (!t.noRowid || c.key == 0 || t.packed)
	first := "0"
	if d.more {
		first = "$" + t.set
	}
	number := generated{kind: "serial", value: first}
	const prefix = 3 // least number of letters before the number; the letters put the texts in random order
	if !ascending && s.low >= width+prefix {
		n := d.help(c, "n", number)
		pad := d.help(c, "pad", generated{kind: "text", value: lessLengths(s, width)})
		return generated{kind: "format", value: yamlText(fmt.Sprintf("%%s%%0%dd", width)), also: []string{"of: [" + pad + ", " + n + "]"}}
	}
	if !ascending && !d.more {
		number = generated{kind: "shuffle", value: rowsOf(t.set)}
	}
	return numbered(s, t.rows, number, d.helper(c))
}

// ascendingText returns the generator of texts that ascend from row to row. Several rows have the
// same text.
func ascendingText(d *dataSet, c *column, s *classStats) generated {
	values := s.distinct.values()
	number := generated{kind: "serial", value: "0", also: []string{fmt.Sprintf("step: %d", values), fmt.Sprintf("every: %d", max(1, d.table.rows))}}
	return numbered(s, values, number, d.helper(c))
}

// prose returns the generator of texts that consist of words.
func (b *builder) prose(c *column) generated {
	w := c.stats.words
	also := append([]string{"of: " + b.vocabulary(c) + ".word"}, skewed(w.distinct.values(), w.distinct.repeats())...)
	return generated{kind: "words", value: lengths(&w.counts), also: also}
}

// vocabulary returns the name of the data set with the words of a column. It adds the data set if
// there is none yet.
func (b *builder) vocabulary(c *column) string {
	return b.once("vocabulary", c, func() string {
		w := c.stats.words
		d := b.newSet(c.name+"_words", fmt.Sprint(max(1, w.distinct.values())))
		d.add(generated{name: "word", kind: "text", value: lengths(&w.lengths)})
		return d.name
	})
}

// lengths returns, as YAML, a distribution of lengths of texts or blobs. Its mean is the mean of
// the lengths in the database.
func lengths(s *classStats) string { return lessLengths(s, 0) }

// lessLengths returns lengths as the function "lengths" does, but each length is reduced by the parameter
// "less".
func lessLengths(s *classStats, less int64) string {
	if s.low == s.high {
		return fmt.Sprint(max(0, s.low-less))
	}
	bounds := quantiles(s.numbers.sample, intervals)
	bounds[0] = s.low
	// In the generated texts, all lengths within an interval are equally likely. If only a few
	// texts of the database are very long, the lengths in the last interval would be too great on
	// average. So the last bound is changed until the mean of all lengths is right.
	m := len(bounds) - 1
	mean := 0.0
	for i := range m {
		mean += float64(bounds[i]+bounds[i+1]) / 2 / float64(m)
	}
	off := s.sum/float64(s.n) - mean
	bounds[m] = max(bounds[m-1], bounds[m]+int64(math.Round(2*float64(m)*off)))
	for i := range bounds {
		bounds[i] = max(0, bounds[i]-less)
	}
	return list(bounds)
}

// letters returns n letters that depend on a hash.
func letters(hash uint64, n int) string {
	b := make([]byte, n)
	for i := range b {
		if i%8 == 0 {
			hash = scramble(hash + uint64(i) + 1)
		}
		b[i] = 'a' + byte(hash>>(i%8*8)&0xff)%26
	}
	return string(b)
}
