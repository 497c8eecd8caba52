package explorer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestYesterday checks the words by which the runs of the last two days can be found.
func TestYesterday(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 30, 0, 0, time.UTC)
	for hours, want := range map[int]string{0: "today", 1: "yesterday", 24: "yesterday", 25: "2026-11-25 23:30"} {
		if words := dateWords(now.Add(-time.Duration(hours)*time.Hour), now); !slices.Contains(words, want) || strings.HasPrefix(want, "20") && len(words) > 4 {
			t.Errorf("%d hours ago: %q without %q", hours, words, want)
		}
	}
}

func ids(l *List) string {
	var list []string
	for _, r := range l.Runs {
		list = append(list, fmt.Sprint(r.ID))
	}
	return strings.Join(list, " ")
}

func TestList(t *testing.T) {
	second := aRun(2, 1)
	second.Cases[2].Driver, second.Stopped = "ncruces", result.StoppedInterrupted
	third := aRun(3, 1)
	third.Workloads[0].Name, third.Machine.Hostname = "real", "Elsewhere"
	for i := range third.Cases {
		third.Cases[i].Workload = "real"
	}
	third.Trials[0].Status, third.Trials[0].Samples, third.Trials[0].Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "no"}
	fourth := aRun(4, 1)
	fourth.Trials, fourth.Ended, fourth.Stopped, fourth.Asked = fourth.Trials[:4], time.Time{}, "", nil
	server := serveRuns(t, aRun(1, 1), second, third, fourth)
	for query, want := range map[string]string{
		"":                                   "4 3 2 1",
		"?order=asc":                         "1 2 3 4",
		"?driver=modernc":                    "4 3 1",
		"?driver=modernc&driver=mattn":       "4 3 1",
		"?driver=modernc&driver=ncruces":     "",
		"?workload=real":                     "3",
		"?state=interrupted":                 "2",
		"?state=incomplete":                  "3",
		"?state=refused":                     "3",
		"?state=wrong":                       "",
		"?q=refused":                         "3",
		"?state=unfinished":                  "4",
		"?state=complete":                    "1",
		"?since=2026-11-03&until=2026-11-04": "3 2",
		"?until=2026-11-02T12:00:00Z":        "1",
		"?q=elsewhere":                       "3",
		"?q=NCRUCES+journal_mode=wal":        "2",
		"?q=2026-11-03":                      "2",
		"?q=11-03+12:00":                     "2",
		"?q=3+november+tuesday+ncruces":      "2",
		"?q=2026-11":                         "4 3 2 1",
		"?q=yesterday":                       "",
		"?q=2026-11-04+02:00&zone=Pacific/Kiritimati": "2",
		"?size=1&page=2":           "3",
		"?size=3&page=9":           "1",
		"?sort=trials&order=asc":   "4 1 2 3",
		"?sort=workload&order=asc": "3 1 2 4",
	} {
		l := get[*List](t, server, "/api/v1/runs"+query)
		if got := ids(l); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if l.Total != 4 || fmt.Sprint(l.Drivers) != "[mattn modernc native ncruces]" || fmt.Sprint(l.Workloads) != "[real simple]" {
			t.Errorf("%s: %d runs, drivers %v, workloads %v", query, l.Total, l.Drivers, l.Workloads)
		}
	}
}

// TestListCounts checks that the list of runs counts the cases that are not OK and the kinds of
// warnings, and says why each run ended. A run is complete if every failed trial was repeated with success.
func TestListCounts(t *testing.T) {
	bad, warned := aRun(2, 1), aRun(3, 1)
	for _, i := range []int{0, 3, 5} { // trials of the cases 1, 1 and 3
		bad.Trials[i].Status, bad.Trials[i].Samples, bad.Trials[i].Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "no"}
	}
	bad.Trials[8].Status, bad.Trials[8].Samples = result.Wrong, nil // another trial of case 3
	warned.Warnings = []result.Warning{{Code: "load", Message: "busy"}, {Code: "virtual", Message: "virtual"}, {Code: "virtual", Message: "again"}}
	warned.Stopped = result.StoppedTime
	resumed := aRun(4, 1)
	failed := resumed.Trials[0]
	failed.Status, failed.Samples, failed.Reason, failed.Repeated = result.Failed, nil, &protocol.Reason{Code: "timeout", Message: "no"}, true
	failed.Order = len(resumed.Trials) + 1
	resumed.Trials = append(resumed.Trials, failed)
	l := get[*List](t, serveRuns(t, aRun(1, 1), bad, warned, resumed), "/api/v1/runs?order=asc")
	var got []string
	for _, r := range l.Runs {
		got = append(got, fmt.Sprint(r.State, r.Cases, r.Bad, r.Warnings, r.Warned, " ", r.Ending))
	}
	if want := []string{"complete3 map[] 0 [] rounds done", "incomplete3 map[refused:1 wrong:1] 0 [] rounds done", "complete3 map[] 2 [noise] time over", "complete3 map[] 0 [] rounds done"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
