package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// TestCharts checks which pictures of a run an answer lists. The parameters of the request select
// pictures. Pictures that would be empty are left out.
func TestCharts(t *testing.T) {
	server := serveRuns(t, aRun(1, 2))
	kinds := func(query string) string {
		var list []string
		for _, c := range get[*Charts](t, server, "/api/v1/runs/1/charts"+query).Charts {
			list = append(list, fmt.Sprintf("%s %s", c.Kind, c.Phase))
		}
		return strings.TrimSpace(strings.Join(list, "; "))
	}
	for query, want := range map[string]string{
		"":                             "summary ; tradeoff ; ratios ; ranking insert; samples insert; memory insert; ranking mix; latency mix; samples mix",
		"?kind=latency&kind=memory":    "memory insert; latency mix",
		"?phase=mix":                   "ranking mix; latency mix; samples mix",
		"?driver=mattn":                "summary ; ranking insert; samples insert; memory insert; ranking mix; latency mix; samples mix",
		"?driver=mattn&driver=modernc": "summary ; tradeoff ; ratios ; ranking insert; samples insert; memory insert; ranking mix; latency mix; samples mix",
		"?driver=nobody":               "",
		"?workload=other":              "",
		"?phase=insert&driver=native&kind=ranking": "ranking insert",
	} {
		if got := kinds(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}

	d := get[*Drawn](t, server, "/api/v1/runs/1/charts/simple-mix-latency-get?driver=mattn&driver=modernc&width=400")
	if !strings.HasPrefix(d.SVG, `<svg width="400"`) || strings.Contains(d.SVG, "native") || d.Kind != document.KindLatency || d.Phase != "mix" || len(d.Columns) == 0 || len(d.Rows) == 0 {
		t.Errorf("%+v", d)
	}
	for _, part := range []string{`href="?case=2&amp;of=mix"`, "99 %: 5", "10 samples", "interval"} {
		if !strings.Contains(d.SVG, part) {
			t.Errorf("without %s: %s", part, d.SVG)
		}
	}
	for extension, want := range map[string][2]string{".svg": {"image/svg+xml", "<svg"}, ".png": {"image/png", "\x89PNG"}} {
		status, header, body := request(t, server, "GET", "/api/v1/runs/1/charts/phases"+extension, "")
		if status != http.StatusOK || header.Get("Content-Type") != want[0] || !strings.HasPrefix(body, want[1]) ||
			header.Get("Content-Disposition") != "attachment; filename=phases"+extension || strings.Contains(body, "href") {
			t.Errorf("%s: status %d, %v, %.100q", extension, status, header, body)
		}
	}
	if status, _, body := request(t, server, "GET", "/assets/chart.css", ""); status != http.StatusOK || !strings.Contains(body, "--chart-1:") || !strings.Contains(body, "prefers-color-scheme: dark") {
		t.Errorf("status %d: %s", status, body)
	}
}
