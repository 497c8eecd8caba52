package document

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Map returns the results of f for each element of a list, or nil for an empty list.
func Map[T, U any](list []T, f func(T) U) (out []U) {
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

// Join joins the elements of a list. The function "word" returns the text of an element.
func Join[T any](list []T, separator string, word func(T) string) string {
	return strings.Join(Map(list, word), separator)
}

// JoinKnown joins words and leaves out empty words. If the words are passed as a slice (words...), it
// overwrites the slice.
func JoinKnown(separator string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), separator)
}

// AndOthers joins up to three names by commas and "and". If there are more names, it joins the first
// two names and counts the other names.
func AndOthers(names []string) string {
	const most = 3
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d others", len(names)-most+1))
	}
	return And(names)
}

// And joins words by commas and "and".
func And(words []string) string { return joined(words, " and ") }

// Or joins words by commas and "or".
func Or(words []string) string { return joined(words, " or ") }

func joined(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + last + words[n]
}

// SomeOf joins at most the given number of words by semicolons, and counts the words that it leaves
// out.
func SomeOf(words []string, most int) string { return FirstOf(words, most, "; ") }

// FirstOf joins at most the given number of words by a separator, and counts the words that it
// leaves out.
func FirstOf(words []string, most int, separator string) string {
	if len(words) > most {
		return strings.Join(words[:most], separator) + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, separator)
}

// Cut returns a text. If the text has more characters than the given number, Cut returns only the first
// characters and an ellipsis.
func Cut(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// Upper capitalizes the first letter of a sentence.
func Upper(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

// Verb returns the form of a verb for n subjects: the parameter "one" if n is 1, otherwise "several".
func Verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// JoinInts joins ascending numbers by commas and shortens sequences to the form 3-7. If there are more
// than [maxInts] numbers and sequences, only the first maxInts of them are written, followed by an
// ellipsis.
func JoinInts(n []int) string {
	var words []string
	for i := 0; i < len(n); {
		if len(words) == maxInts {
			words = append(words, "…")
			break
		}
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		word := fmt.Sprint(n[i])
		if j > i+1 {
			word = fmt.Sprintf("%d-%d", n[i], n[j])
			i = j
		}
		words = append(words, word)
		i++
	}
	return strings.Join(words, ", ")
}

const maxInts = 10

// Slug converts a text to an identifier of lower-case letters, digits and hyphens.
func Slug(text string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "part")
}

const maxSlug = 100

// Abridged returns a text on one line. If it has more characters than the parameter "most" says,
// the end is replaced by an ellipsis.
func Abridged(s string, most int) string {
	if r := []rune(Line(s)); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return Line(s)
}

// Assigned formats settings or parameters as name=value, sorted by name.
func Assigned[V any](m map[string]V) string {
	return Join(slices.Sorted(maps.Keys(m)), " ", func(name string) string { return fmt.Sprintf("%s=%v", name, m[name]) })
}

// Roughly formats a duration with the digits that matter.
func Roughly(d time.Duration) string {
	if d < time.Second {
		return max(d.Round(time.Millisecond), time.Millisecond).String()
	}
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
