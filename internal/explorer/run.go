package explorer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Run is the answer to /api/v1/runs/{id}: a run without its trials.
type Run struct {
	ID        int64               `json:"id"`
	Answer    string              `json:"answer" clip:"2000"` // the answer of the run in a sentence or two
	Choices   [][2]string         `json:"choices,omitempty"`  // pairs of a need, such as "without cgo", and the best driver that meets it, in words
	Version   string              `json:"version"`
	Started   time.Time           `json:"started"`
	Ended     time.Time           `json:"ended,omitzero"`
	Stopped   string              `json:"stopped"`
	Ending    string              `json:"ending"` // Stopped in words
	Command   []string            `json:"command"`
	Seed      uint64              `json:"seed,string"`
	Scale     string              `json:"scale"`
	Rounds    int                 `json:"rounds"`
	Trials    int                 `json:"trials"`
	Machine   result.Machine      `json:"machine"`
	Asked     *result.Asked       `json:"asked,omitempty"`
	Study     *result.Study       `json:"study,omitempty"`
	Compares  *result.Compares    `json:"compares,omitempty"`
	Profiled  string              `json:"profiled,omitempty"`  // the profiled phase, if the run has profiles instead of trials; only the report shows profiles
	Question  string              `json:"question,omitempty"`  // the question that the run answers, such as "tune"
	Unsampled string              `json:"unsampled,omitempty"` // what the run has instead of samples, such as "profiles"; "" if the run is meant to have samples
	LeftOut   []result.LeftOut    `json:"left_out,omitempty" most:"200"`
	Workloads []Workload          `json:"workloads"`
	Cases     []Case              `json:"cases"`
	Defects   []Defect            `json:"defects"`                        // known defects of the versions that the workers reported
	Sure      string              `json:"how_sure" clip:"2000"`           // how certain the answer is
	Beware    []Beware            `json:"beware" clip:"1000" most:"100"`  // Caveats in the form in which all formats show them: all warnings about a noisy machine are one warning
	Caveats   []conditions.Caveat `json:"caveats" clip:"1000" most:"100"` // the warnings that the report shows first, the worst first
	Warnings  []result.Warning    `json:"warnings" most:"100"`            // warnings as recorded, one for each occurrence
	Metrics   []metric            `json:"metrics"`                        // metrics that views can show
}

// Beware is a warning in the form in which reports show it.
type Beware struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Mild bool   `json:"mild,omitempty"` // the figures are right, but there could be more of them
}

func bewareOf(list []conditions.Caveat) []Beware {
	return document.Map(conditions.CaveatItems(list), func(it document.Item) Beware { return Beware{it.Label, it.Text, !it.Alarm} })
}

// Workload names a workload that a run measured, with the hash of its text.
type Workload struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"`
}

// Case is a case of a run, which is a driver with its workload, settings and parameters. It also
// says how its trials ended.
type Case struct {
	ID         int               `json:"id"`
	Workload   string            `json:"workload"`
	Variant    string            `json:"variant,omitempty"` // settings and parameters that distinguish the case from other cases of its workload
	Driver     string            `json:"driver"`
	Kind       driver.Kind       `json:"kind,omitempty"`      // how the driver's library reaches SQLite
	Interface  driver.Interface  `json:"interface,omitempty"` // interface through which the library is used
	Library    string            `json:"library,omitempty"`   // version of the library that the worker reported
	SQLite     string            `json:"sqlite,omitempty"`    // version of SQLite that the worker reported
	Settings   driver.Settings   `json:"settings"`            // settings as requested
	Parameters map[string]int64  `json:"parameters,omitempty"`
	Phases     []string          `json:"phases"`
	Status     result.Status     `json:"status"`
	Reason     *protocol.Reason  `json:"reason,omitempty"`
	Defects    []string          `json:"defects,omitempty"`         // ids of the known defects of this library and this SQLite, the worst first
	Harmful    []string          `json:"harmful_defects,omitempty"` // ids of the known defects that can lose, damage or falsify data in this workload
	Trials     int               `json:"trials"`
	BadTrials  int               `json:"bad_trials"`
	Warnings   []result.Warning  `json:"warnings,omitempty" most:"100"` // warnings about the case and its trials; at most the first 100
	Options    map[string]string `json:"options,omitempty"`
}

// Defect is a known defect in the library or the SQLite of some case.
type Defect struct {
	ID        string         `json:"id"`
	Effect    defects.Effect `json:"effect"`
	Title     string         `json:"title"`
	Needs     string         `json:"needs"`               // the conditions under which the defect does harm, in words
	Elsewhere bool           `json:"elsewhere,omitempty"` // whether the defect cannot occur on the run's machine
	Falsifies bool           `json:"falsifies,omitempty"` // whether the defect can lose, damage or falsify data
	Drivers   []string       `json:"drivers"`             // drivers that have the defect
}

func (s *Server) getRun(r *http.Request, q *query) (*Run, error) {
	a, err := s.judgedRun(r, q)
	if err != nil {
		return nil, err
	}
	o := s.options.Describe(a)
	of, said := a.Run, report.AnswersOf(a, o)
	choices := document.Map(said.Alternatives(), func(i document.Item) [2]string { return [2]string{i.Label, i.Text} })
	out := &Run{
		ID: of.ID, Answer: said.Text, Choices: choices, Version: of.Version, Started: of.Started, Ended: of.Ended, Stopped: of.Stopped, Ending: result.Ending(of.Stopped),
		Command: of.Command, Seed: of.Seed, Scale: of.Scale, Rounds: of.Rounds, Trials: len(of.Trials), Machine: of.Machine, Asked: of.Asked, Study: of.Study, Compares: of.Compares,
		LeftOut: of.LeftOut, Sure: report.HowSure(a, &said, o), Beware: bewareOf(said.Caveats), Caveats: said.Caveats, Warnings: a.Warnings, Metrics: metricsOf(a), Unsampled: of.Unsampled(),
	}
	if of.Profiles != nil {
		out.Profiled = of.Profiles.Phase
	}
	if of.Answer != nil {
		if out.Question = of.Answer.Question; out.Unsampled != "" {
			out.Answer, out.Choices, out.Sure, out.Beware, out.Caveats = fmt.Sprintf("This run has %s instead of samples.", out.Unsampled), nil, "", nil, nil
		}
	}
	out.Workloads = document.Map(of.Workloads, func(w result.Workload) Workload { return Workload{w.Name, w.SHA256} })
	for g, o := range a.OutcomesByGroup() {
		out.Cases = append(out.Cases, caseOf(a, g, o))
		out.noteDefects(a, o)
	}
	slices.SortStableFunc(out.Cases, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func (r *Run) noteDefects(a *stats.Analysis, o *stats.Outcome) {
	known, _ := conditions.KnownDefects(a, o)
	for _, d := range known {
		i := slices.IndexFunc(r.Defects, func(x Defect) bool { return x.ID == d.ID })
		if i < 0 {
			i = len(r.Defects)
			r.Defects = append(r.Defects, Defect{ID: d.ID, Effect: d.Effect, Title: d.Title, Needs: conditions.DefectNeeds(d.Needs),
				Elsewhere: d.Needs.Unmet(conditions.UseOf(a)) != nil, Falsifies: d.Effect.Falsifies()})
		}
		if x := &r.Defects[i]; !slices.Contains(x.Drivers, o.Case.Driver) {
			x.Drivers = append(x.Drivers, o.Case.Driver)
		}
	}
}

func (s *Server) judgedRun(r *http.Request, q *query) (*stats.Analysis, error) {
	id, err := idOf(r.PathValue("id"))
	if err == nil {
		err = q.end()
	}
	if err != nil {
		return nil, err
	}
	return s.shelf.analysis(r.Context(), id)
}

func caseOf(a *stats.Analysis, g *stats.Group, o *stats.Outcome) Case {
	c := Case{ID: o.Case.ID, Workload: g.Workload, Variant: g.Variant(), Driver: o.Case.Driver, Kind: o.Case.Info.Kind, Interface: o.Case.Info.Interface,
		Settings: o.Case.Settings, Parameters: o.Case.Parameters, Phases: o.Case.Phases, Status: o.Status, Reason: o.Reason,
		Trials: len(o.Trials), BadTrials: o.Bad, Warnings: o.Warnings, Options: o.Case.Options}
	if p := o.Proof(); p != nil {
		c.Library, c.SQLite = p.ModuleVersion, p.SQLiteVersion
	}
	known, _ := conditions.KnownDefects(a, o)
	for _, d := range known {
		c.Defects = append(c.Defects, d.ID)
	}
	if len(g.Tables) > 0 {
		c.Harmful = conditions.HarmfulIn(a, g.Tables[0]).IDs(c.Driver)
	}
	return c
}

// written returns a handler that answers with the output of the function "write" for a run. The
// format is "json" or "html".
func (s *Server) written(format string, write func(context.Context, io.Writer, *stats.Analysis) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		a, err := s.judgedRun(r, parse(r))
		if err == nil {
			err = write(r.Context(), &b, a)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set("Content-Type", types["."+format])
		_, _ = w.Write(b.Bytes()) // fails only if the client has disconnected
	})
}

func (s *Server) report(format string) http.Handler {
	return s.written(format, func(_ context.Context, w io.Writer, a *stats.Analysis) error {
		o := s.options.Describe(a)
		o.Assets = pageAssets
		return report.Write(w, format, a, o)
	})
}

// storedAnswer returns a handler that answers with a run's stored answer. Only runs that were made for
// a question, such as "tune", have an answer.
func (s *Server) storedAnswer(format string) http.Handler {
	return s.written(format, func(ctx context.Context, w io.Writer, a *stats.Analysis) error {
		if a.Run.Answer == nil || s.options.Answer == nil {
			return failf(http.StatusNotFound, "run %d was not made for a question whose answer is stored", a.Run.ID)
		}
		return s.options.Answer(ctx, w, format, a, document.Options{Assets: pageAssets})
	})
}

// Samples is the answer to /api/v1/runs/{id}/samples: the samples of one phase, for each
// requested case, in the order in which they were measured.
type Samples struct {
	Run    int64    `json:"run"`
	Phase  string   `json:"phase"`
	Metric metric   `json:"metric"`
	Unit   string   `json:"unit"`
	Cases  []Series `json:"cases"`
}

// Series has the samples of a case.
type Series struct {
	Case
	InForce driver.Settings  `json:"in_force"`            // settings at the end of the phase, with the defaults that connections read back
	Proof   *Proof           `json:"proof,omitempty"`     // what the worker of a trial reported; absent if no worker reported anything
	Later   *result.ReadBack `json:"read_back,omitempty"` // settings that connections read back after the schema or a phase, if a trial was refused because they differed from the requested settings; of at most maxSeries connections
	Samples []Sample         `json:"samples"`
	More    int              `json:"more,omitempty"` // number of samples that are left out because there are too many
}

// Proof has the versions that a worker reported, and the settings that its connections read back.
type Proof struct {
	SQLite      string            `json:"sqlite"`
	SourceID    string            `json:"source_id,omitempty"`
	Module      string            `json:"module,omitempty"`
	Version     string            `json:"version,omitempty"`
	Connections []driver.Settings `json:"connections" most:"20"` // settings read back from each connection; at most the first 20 connections
}

// Sample is the figure of one trial.
type Sample struct {
	Trial   int               `json:"trial"` // number of the trial within the run
	Round   int               `json:"round"`
	Started time.Time         `json:"started"`
	Value   float64           `json:"value"`
	Counts  bool              `json:"counts"`           // whether the sample counts; false: other processes disturbed the trial, and it was measured again
	Robbed  bool              `json:"robbed,omitempty"` // whether other processes took CPU time from the trial
	WallNS  int64             `json:"wall_ns"`
	Ops     int64             `json:"operations"`
	Failed  int64             `json:"failed,omitempty"`
	Latency []latency.Summary `json:"latency,omitempty" most:"20"`
}

const (
	maxSeries  = 20   // greatest number of cases in an answer
	maxSamples = 5000 // greatest number of samples of a case
)

func (s *Server) getSamples(r *http.Request, q *query) (*Samples, error) {
	m, phase := q.metric(), q.text("phase")
	wanted := map[int]bool{}
	for _, text := range q.list("case") {
		id, err := idOf(text)
		if err != nil {
			q.fail("case: %q: want the number of a case, such as 3", clip(text))
		}
		wanted[int(id)] = true
	}
	switch {
	case len(wanted) == 0:
		q.fail("case is missing: want the number of a case, such as case=3")
	case len(wanted) > maxSeries:
		q.fail("case: %d cases: at most %d", len(wanted), maxSeries)
	case phase == "":
		q.fail("phase is missing: want the name of a phase of the case")
	}
	a, err := s.judgedRun(r, q)
	if err != nil {
		return nil, err
	}
	out := &Samples{Run: a.Run.ID, Phase: phase, Metric: m}
	for g, o := range a.OutcomesByGroup() {
		if wanted[o.Case.ID] {
			delete(wanted, o.Case.ID)
			one, unit := series(a, g, o, phase, m)
			if !has(one.Phases, []string{phase}) {
				return nil, failf(http.StatusNotFound, "case %d of run %d has no phase %q: %s", o.Case.ID, a.Run.ID, clip(phase), driver.Suggest(phase, one.Phases))
			}
			out.Unit = cmp.Or(out.Unit, unit)
			out.Cases = append(out.Cases, one)
		}
	}
	for id := range wanted {
		return nil, failf(http.StatusNotFound, "run %d has no case %d: it has %d cases", a.Run.ID, id, len(a.Run.Cases))
	}
	return out, nil
}

// series returns the samples of a case in a phase, and the unit of their values.
func series(a *stats.Analysis, g *stats.Group, o *stats.Outcome, phase string, m metric) (out Series, unit string) {
	out = Series{Case: caseOf(a, g, o), InForce: conditions.InForce(o, phase)}
	if p := o.Proof(); p != nil {
		out.Proof = &Proof{SQLite: p.SQLiteVersion, SourceID: p.SQLiteSourceID, Module: p.Module, Version: p.ModuleVersion, Connections: p.Connections}
	}
	for _, t := range o.Trials {
		if r := t.ReadBack; r != nil && out.Later == nil {
			out.Later = &result.ReadBack{After: r.After, Wanted: r.Wanted, Connections: r.Connections[:min(len(r.Connections), maxSeries)]}
		}
		for i := range t.Samples {
			x := &t.Samples[i]
			if clip(x.Phase) != phase {
				continue
			}
			if len(out.Samples) == maxSamples {
				out.More++
				continue
			}
			v, in := m.of(x)
			unit = cmp.Or(unit, in)
			out.Samples = append(out.Samples, Sample{Trial: t.Order, Round: t.Round, Started: t.Started, Value: v, Counts: !t.Repeated, Robbed: t.Robbed,
				WallNS: x.WallNS, Ops: x.Operations, Failed: x.Failed, Latency: x.Latency})
		}
	}
	return out, unit
}
