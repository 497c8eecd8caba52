package conditions

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// refusedFor returns the settings that a case was refused for after its connections had been
// opened, or nil.
func refusedFor(o *stats.Outcome) *result.ReadBack {
	for _, t := range o.Trials {
		if t.Status == result.Refused && t.ReadBack != nil {
			return t.ReadBack
		}
	}
	return nil
}

func when(r *result.ReadBack) string {
	if r.After == "" {
		return "after the schema"
	}
	return "after " + r.After
}

// alikeConnections groups the numbers of connections by the values that they read back. Keys are
// the cells of the table, separated by zero bytes.
func alikeConnections(r *result.ReadBack, names []string) (alike Groups[string, int]) {
	for i, got := range r.Connections {
		var words []string
		for _, n := range names {
			word := strings.ReplaceAll(cmp.Or(got[n], document.Absent), "\x00", " ")
			if want, ok := r.Wanted[n]; ok && got[n] != want {
				word = "✗ " + word
			}
			words = append(words, word)
		}
		alike.Add(strings.Join(words, "\x00"), i+1)
	}
	return alike
}

// someNumbers joins numbers that follow each other, such as "1, 3–5", of many the first.
func someNumbers(list []int) string {
	const most = 6
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := fmt.Sprint(list[i])
		if j > i {
			part += fmt.Sprintf("–%d", list[j])
		}
		if parts = append(parts, part); len(parts) == most && j+1 < len(list) {
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(list)-j-1)
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
