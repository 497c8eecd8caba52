package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestPictures checks that each picture of a run has a unique name that can be typed, that it can
// be drawn, and that the page contains it.
func TestPictures(t *testing.T) {
	for name, run := range fixtures {
		page := write(t, "html", run(), "native", document.Options{})
		names := map[string]bool{}
		for _, p := range report.Pictures(stats.Analyze(run(), "native"), report.Options{}) {
			if names[p.Name] || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Errorf("%s: name %q", name, p.Name)
			}
			names[p.Name] = true
			if err := chart.WriteSVG(io.Discard, p.Chart(0)); err != nil {
				t.Errorf("%s: %s: %v", name, p.Name, err)
			}
			if !strings.Contains(page, `<figure id="picture-`+p.Name+`"`) {
				t.Errorf("%s: the page has no %s", name, p.Name)
			}
		}
		if len(names) == 0 && name != "empty" {
			t.Errorf("%s has no pictures", name)
		}
	}
}

// TestOneColor checks that a driver has the same color in all pictures of a run, even in pictures
// that lack some drivers.
func TestOneColor(t *testing.T) {
	run := fullRun()
	mark := regexp.MustCompile(`(?s) aria-label="([^",]+)[^>]*>(.*?)</(?:g|a)>`)
	color := regexp.MustCompile(`var\(--chart-\d\)`)
	colors, pictures := map[string]string{}, 0
	for _, p := range report.Pictures(stats.Analyze(run, "native"), report.Options{}) {
		if !regexp.MustCompile("latency|order|errors|waits").MatchString(p.Name) {
			continue
		}
		pictures++
		var b bytes.Buffer
		if err := chart.WriteInline(&b, p.Chart(0), "x"); err != nil {
			t.Fatal(err)
		}
		for _, m := range mark.FindAllStringSubmatch(b.String(), -1) {
			c := color.FindString(m[2])
			if c == "" {
				continue // the parts of a stacked bar do not have the color of a driver
			}
			name := strings.TrimSuffix(m[1], "!") // without the mark, because a driver can be marked in some workloads only
			if was, ok := colors[name]; ok && was != c {
				t.Errorf("%s: %s has the color %s, and elsewhere %s", p.Name, name, c, was)
			}
			colors[name] = c
		}
	}
	different := map[string]bool{}
	for _, c := range colors {
		different[c] = true
	}
	if len(colors) != 9 || len(different) != chart.Colors || pictures < 7 {
		t.Errorf("in %d pictures the colors are %v", pictures, colors)
	}
}

// TestSavedPictures checks pictures that are saved as files. A saved picture must explain its marks
// and error bars, if it has any. It must also name its run, date and machine.
func TestSavedPictures(t *testing.T) {
	marks, bars := map[document.Kind]bool{}, 0
	for _, p := range report.Pictures(stats.Analyze(fullRun(), "native"), report.Options{}) {
		var shown, saved bytes.Buffer
		if err := errors.Join(chart.WriteInline(&shown, p.Chart(0), "x"), chart.WriteSVG(&saved, p.File(0))); err != nil {
			t.Fatal(err)
		}
		says := func(words string) bool { return strings.Contains(saved.String(), words) }
		if marked := regexp.MustCompile(`[a-z0-9]!<`).MatchString(shown.String()); marked != says("! marks drivers with a known defect") && p.Kind != document.KindTradeoff {
			t.Errorf("%s: marked %v, explained %v", p.Name, marked, !marked)
		} else if marked {
			marks[p.Kind] = true
		}
		if strings.Contains(strings.Join(p.Legend(), " "), "Error bars show 95% confidence intervals.") {
			bars++
			if !says("Error bars show 95% confidence intervals.") || !strings.Contains(shown.String(), "interval ") {
				t.Errorf("%s explains error bars that it does not have, or only in its page", p.Name)
			}
		}
		if !says("run 12") || !says("2026-11-21 10:00 UTC") || !says("AMD EPYC") {
			t.Errorf("%s does not say where its figures come from", p.Name)
		}
	}
	for _, k := range []document.Kind{document.KindSummary, document.KindRatios, document.KindRanking, document.KindLatency, document.KindSamples, document.KindMemory, document.KindTradeoff} {
		if !marks[k] {
			t.Errorf("no picture of the kind %s has marks", k)
		}
	}
	if bars < 5 {
		t.Errorf("%d pictures explain error bars", bars)
	}
}

// picture returns the picture with the given name.
func picture(t *testing.T, run *result.Run, name string) document.Picture {
	t.Helper()
	var names []string
	for _, p := range report.Pictures(stats.Analyze(run, "native"), report.Options{}) {
		if names = append(names, p.Name); p.Name == name {
			return p
		}
	}
	t.Fatalf("no picture %q in %q", name, names)
	return document.Picture{}
}

// clientsRun returns a run of one driver with several numbers of clients. The scalability law
// determines the throughput for each number of clients.
func clientsRun(law stats.Scaling, clients ...int64) *result.Run {
	return noisyClientsRun(law, nil, clients...)
}

// noisyClientsRun does what clientsRun does. If the function "noisy" is not nil, the throughput of
// each trial is multiplied by a factor that the function returns.
func noisyClientsRun(law stats.Scaling, noisy func() float64, clients ...int64) *result.Run {
	run := newRun(6)
	for _, n := range clients {
		add(run, "writers", map[string]int64{"clients": n}, wal, []string{"mattn"}, func(_ library, round int, noise float64) result.Sample {
			s := mix("mix", "time/op", false)(library{factor: 1}, round, 1)
			if noisy != nil {
				noise = noisy()
			}
			s.Operations = int64(law.At(float64(n)) * float64(s.WallNS) / 1e9 * noise)
			return s
		})
	}
	return run
}

func TestScalingPicture(t *testing.T) {
	law := stats.Scaling{Lambda: 10_000, Sigma: 0.1, Kappa: 0.02}
	p := picture(t, clientsRun(law, 1, 2, 4, 8, 16), "writers-mix-by-clients")
	if !regexp.MustCompile(`\(Gunther 2007\).*: this peaks at 6\.\d \([56]\.\d to [67]\.\d\) with \S+ op/s \(contention \S+%, coherency \S+%, no point farther off than [0-3]\.\d%\)\.$`).MatchString(p.Note) {
		t.Errorf("the note is %q", p.Note)
	}
	if three := picture(t, clientsRun(law, 1, 2, 4), "writers-mix-by-clients"); strings.Contains(three.Note, "Gunther") {
		t.Errorf("a law is fitted to three points: %q", three.Note)
	}
	random := rand.New(rand.NewPCG(3, 4))
	noisy := func() float64 { return math.Exp(0.1 * random.NormFloat64()) }
	const runs = 100
	for _, none := range []stats.Scaling{{Lambda: 10_000}, {Lambda: 10_000, Sigma: 0.1}, {Lambda: 10_000, Sigma: 0.5}, {Lambda: 10_000, Sigma: 1}} {
		named, marked := 0, 0
		for range runs {
			p := picture(t, noisyClientsRun(none, noisy, 1, 2, 4, 8, 16), "writers-mix-by-clients")
			if !strings.Contains(p.Note, "no clear peak up to 16") {
				named++
			}
			if p.Plot.(*chart.Lines).Series[0].Peak != nil {
				marked++
			}
		}
		t.Logf("contention %v: %d peaks of %d, %d marked", none.Sigma, named, runs, marked)
		if named > 6 || marked > 6 { // in 2.5 % of the runs, chance makes throughput seem to fall
			t.Errorf("contention %v, which has no peak: %d of %d have one, %d are marked", none.Sigma, named, runs, marked)
		}
	}
	columns, rows := chart.Table(p.Chart(0))
	if text := fmt.Sprint(columns, rows); !strings.Contains(text, "op/s") || len(rows) < 5 {
		t.Errorf("the figures are %s", text)
	}
}

// TestErrorPictures checks that there are pictures of lock errors and waits only for phases with
// such errors or waits.
func TestErrorPictures(t *testing.T) {
	run := fullRun()
	_, rows := chart.Table(picture(t, run, "read-write-mix-errors").Chart(0))
	if text := fmt.Sprint(rows); !strings.Contains(text, "SQLITE_BUSY") && !strings.Contains(text, "2.10k") {
		t.Errorf("the figures are %s", text)
	}
	picture(t, run, "read-write-mix-waits")
	for _, p := range report.Pictures(stats.Analyze(run, "native"), report.Options{}) {
		if strings.HasPrefix(p.Name, "simple") && strings.HasSuffix(p.Name, "errors") {
			t.Errorf("%s is shown", p.Name)
		}
	}
}
