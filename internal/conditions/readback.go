package conditions

import (
	"cmp"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// refusedFor returns the settings for which a case was refused after its connections had been
// opened. It returns nil if the case was not refused for that reason.
func refusedFor(o *stats.Outcome) *result.ReadBack {
	for _, t := range o.Trials {
		if t.Status == result.Refused && t.ReadBack != nil {
			return t.ReadBack
		}
	}
	return nil
}

// alikeConnections groups the connections, by their numbers from 1, by the values of settings that
// they read back. A key joins the values, which are cells of the table, with zero bytes.
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
