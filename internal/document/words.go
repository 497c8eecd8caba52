package document

import (
	"fmt"
	"slices"
	"strings"
)

// andOthers lists a few names as in a sentence, and counts the rest.
func AndOthers(names []string) string {
	const most = 3
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d others", len(names)-most+1))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// someOf joins words, of many the first most.
func SomeOf(words []string, most int) string {
	if len(words) > most {
		return strings.Join(words[:most], "; ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, "; ")
}

// upper returns a sentence with its first letter large.
func Upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// andOf joins words by commas and "and".
func AndOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// enumerate lists names as in a sentence.
func Enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// joinInts formats the first [maxInts] of ascending numbers, with sequences as 3-7.
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
		switch {
		case j > i+1:
			words = append(words, fmt.Sprintf("%d-%d", n[i], n[j]))
			i = j + 1
		default:
			words = append(words, fmt.Sprint(n[i]))
			i++
		}
	}
	return strings.Join(words, ", ")
}

// maxInts is how many numbers or ranges of them are worth reading.
const maxInts = 10
