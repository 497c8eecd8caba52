package conditions

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Caveat is a warning about the results of a run.
type Caveat struct {
	Code  string `json:"code"` // a status of cases, the code of a warning, or a Caveat constant
	Count int    `json:"count"`
	Text  string `json:"text"`

	part string // short form of Text, if the caveat is about a noisy machine
}

// The codes of caveats that are neither statuses nor codes of warnings. Each comment also says what
// [Caveat].Count counts.
const (
	CaveatUnsupported = "unsupported" // cases need something that the driver's worker cannot do; Count: cases
	CaveatEnded       = "ended-early" // the run was interrupted, or has not ended; Count: complete rounds
	CaveatFewRounds   = "few-rounds"  // rows with figures have too few samples for a rank; Count: rows
	CaveatUnranked    = "unranked"    // in some rows, more operations failed than in other rows; Count: rows
	CaveatUnmet       = "not-met"     // expectations of the workloads are not met; Count: expectations
	CaveatUndecided   = "not-decided" // for some expectations of the workloads, it is not certain whether they are met; Count: expectations
	CaveatErrors      = "errors"      // in some rows, operations failed with errors other than locks; Count: rows
	CaveatTooShort    = "too-short"   // phases are too short to compare drivers; Count: cells
	CaveatAdded       = "added"       // sqlite3perf's own overhead could explain why a row leads; Count: tables
	CaveatUnset       = "unset"       // the workload leaves settings unset, and the drivers' defaults differ; Count: settings
	CaveatRisk        = "risk"        // settings can lose data; Count: 1
	CaveatRiskLast    = "risk-last"   // settings can lose only the last commit; Count: 1
	CaveatDefect      = "defect"      // drivers have known defects that lose or falsify data; Count: defects
	CaveatUnsettled   = "unsettled"   // figures are less precise than requested; Count: figures
	CaveatSummary     = "no-summary"  // the summary leaves out cells or drivers; Count: cells and drivers left out
	CaveatSpeed       = "speed"       // between two compared runs, the machine's speed seems to have changed; Count: 1
	CaveatTimes       = "times"       // the sides of a comparison were measured at different times; Count: 1
	CaveatLeftOut     = "left-out"    // workloads or drivers were not measured; Count: workloads and drivers
)

// Weight says how much a kind of warning matters.
type Weight int

// The weights of warnings.
const (
	Doubt Weight = iota // figures may be wrong, missing or misleading
	Grave               // data can be lost or falsified; a screen always shows such a warning
	Mild                // the figures are right, but some are missing, or they could be more precise
)

// Kind is a kind of warning.
type Kind struct {
	Code   string
	Name   string // label of the warning in every format
	Weight Weight

	// Usual is true if nearly every run has such a warning. A list of runs does not show it.
	Usual bool

	// Sentence is the format of the warning's text. It is "" if the text is stored with the run, or
	// is made by the function that finds the warning.
	Sentence string

	// Short replaces the sentence on a screen that has little room; "" if there is no shorter form.
	Short string

	// The function "part" is set for warnings about a noisy machine. All of these share one line, and
	// "part" returns the words in that line about this kind. The parameter "ws" has the warnings of this
	// kind, and "rounds" is the number of rounds of the run.
	part func(ws []result.Warning, rounds int) string
}

// Kinds has all kinds of warnings, the worst first.
var Kinds = []Kind{
	{Code: CaveatRisk, Name: "risk", Weight: Grave},
	{Code: CaveatDefect, Name: "known defect", Weight: Grave},
	{Code: string(result.Wrong), Name: "wrong"},
	{Code: string(result.Refused), Name: "refused"},
	{Code: string(result.Failed), Name: "failed"},
	{Code: CaveatUnsupported, Name: "unsupported", Weight: Mild},
	{Code: string(result.Unavailable), Name: "unavailable"},
	{Code: string(stats.NotMeasured), Name: "not measured"},
	{Code: CaveatEnded, Name: "cut short", Sentence: "%s after %s"},
	{Code: CaveatUnmet, Name: "not met", Sentence: "%s"},
	{Code: CaveatUndecided, Name: "not decided", Sentence: "%s"},
	{Code: CaveatUnranked, Name: "not ranked", Sentence: "more operations failed than in other rows%s: %s"},
	{Code: CaveatErrors, Name: "errors", Sentence: "operations failed for another reason than a lock: %s"},
	{Code: CaveatSpeed, Name: "speed", Sentence: "%s: the machine probably changed, so the ratios say little about the drivers",
		Short: "the machine probably changed between the runs"},
	{Code: CaveatTimes, Name: "beware", Sentence: "the sides were measured at different times, so ratios include whatever changed on the machine",
		Short: "measured at different times: the machine may have changed"},
	{Code: CaveatFewRounds, Name: "few rounds", Sentence: "%s fewer than %d rounds, too few to rank them"},
	{Code: result.WarningUnverified, Name: "unverified", Sentence: "the rows that were written could not be checked: %s"},
	{Code: CaveatTooShort, Name: "too short", Sentence: "a phase of less than %s is too short to judge a driver by: %s"},
	{Code: CaveatAdded, Name: "own cost", Sentence: "sqlite3perf's own overhead may explain the lead in %s"},
	// SQLite's defaults have this risk. It is not Grave like other risks, so that it does not hide other
	// warnings.
	{Code: CaveatRiskLast, Name: "last commit", Short: "journal_mode=delete: a power failure can undo the last commit"},
	{Code: CaveatUnsettled, Name: "precision", Weight: Mild, Usual: true},
	{Code: CaveatUnset, Name: "defaults", Sentence: "%s, so each driver used its own default"},
	{Code: result.WarningSync, Name: "databases"},
	{Code: result.WarningDifferent, Name: "different"},
	{Code: result.WarningSkipped, Name: "skipped"},
	{Code: result.WarningUnlocked, Name: "unlocked"},
	{Code: result.WarningRate, Name: "rate"},
	{Code: result.WarningLate, Name: "sent late"},
	{Code: result.WarningCeiling, Name: "ceiling"},
	{Code: result.WarningCPU, Name: "CPU time"},
	{Code: result.WarningClock, Name: "clock"},
	{Code: result.WarningApart, Name: "began apart"},
	{Code: result.WarningCached, Name: "not cold"},
	{Code: result.WarningOnePiece, Name: "one piece"},
	{Code: result.WarningIdle, Name: "no effect"},
	{Code: result.WarningUnasked, Name: "not applied"},
	{Code: result.WarningPart, Name: "in part"},
	{Code: result.WarningStore, Name: "store"},
	{Code: result.WarningShared, Name: "same machine"},
	{Code: result.WarningStopped, Name: "discarded"},
	{Code: "", Name: "warning"}, // all codes that this version does not know
	{Code: result.WarningRobbed, Name: Noise, part: func(ws []result.Warning, _ int) string {
		return "other processes disturbed " + shareOf(ws, "%s of the trials", "trials")
	}},
	{Code: result.WarningLoad, Name: Noise, part: inWords("other processes ran")},
	{Code: result.WarningCalibration, Name: Noise, part: speedChanged},
	{Code: result.WarningSteal, Name: Noise, part: func(ws []result.Warning, _ int) string {
		return "other virtual machines took " + shareOf(ws, "%s of the CPU time", "CPU time")
	}},
	{Code: result.WarningFsync, Name: Noise, part: inWords("the disk's speed changed")},
	{Code: result.WarningGovernor, Name: Noise, Weight: Mild, Usual: true, part: inWords("the clock rate is not fixed")},
	{Code: result.WarningVirtual, Name: Noise, Weight: Mild, Usual: true, part: inWords("the machine is virtual")},
	{Code: result.WarningResumed, Name: "resumed", Weight: Mild},
	{Code: CaveatSummary, Name: "summary", Weight: Mild, Sentence: "leaves out %s"},
	{Code: CaveatLeftOut, Name: "left out", Weight: Mild, Usual: true},
}

// Noise is the name of all warnings about a noisy machine.
const Noise = "noise"

func inWords(words string) func([]result.Warning, int) string {
	return func([]result.Warning, int) string { return words }
}

// shareOf formats the greatest share of the warnings. If no warning has a share, it returns the
// parameter "unknown".
func shareOf(ws []result.Warning, format, unknown string) string {
	share := 0.0
	for _, w := range ws {
		share = max(share, w.Share)
	}
	if share <= 0 {
		return unknown
	}
	return fmt.Sprintf(format, document.Percent(share))
}

// speedChanged says in how many rounds a machine ran at another speed than usual, and by how much
// its speed differed.
func speedChanged(ws []result.Warning, rounds int) string {
	var off []float64
	for _, w := range ws {
		rounds = max(rounds, w.Round)
		if w.Deviation != 0 {
			off = append(off, w.Deviation)
		}
	}
	by := ""
	if off != nil {
		by = fmt.Sprintf(" (%+.0f%%", 100*slices.Min(off))
		if most := fmt.Sprintf("%+.0f%%", 100*slices.Max(off)); " ("+most != by {
			by += " to " + most
		}
		by += ")"
	}
	return fmt.Sprintf("the speed changed in %d of %s%s", len(ws), document.Counted(int64(max(rounds, 1)), "round"), by)
}

// KindOf returns the kind of a code. Unknown codes have the kind of the code "".
func KindOf(code string) *Kind { return &Kinds[kindIndex(code)] }

// kindIndex returns the index in [Kinds] of a code.
func kindIndex(code string) int {
	unknown := 0
	for i := range Kinds {
		switch Kinds[i].Code {
		case code:
			return i
		case "":
			unknown = i
		}
	}
	return unknown
}

// Item returns an item with a warning of this kind.
func (k *Kind) Item(text string) document.Item {
	it := document.Item{Label: k.Name, Text: text, Alarm: k.Weight != Mild, Warning: true, Kept: k.Weight == Grave, Short: [2]string{k.Short}}
	if k.Code == CaveatRisk {
		it.Most = -1 // never cut, because a part of a risk could be misread
	}
	return it
}

// IsRisk reports whether warnings with the given code are about a risk of settings.
func IsRisk(code string) bool { return code == CaveatRisk || code == CaveatRiskLast }

// WarningOf returns an item with a warning. Its text is the [Sentence] for the code and the
// arguments.
func WarningOf(code string, arguments ...any) document.Item {
	return KindOf(code).Item(Sentence(code, arguments...))
}

// Sentence formats the text of a warning. It inserts the arguments into the Sentence of the code's
// kind.
func Sentence(code string, arguments ...any) string {
	return fmt.Sprintf(KindOf(code).Sentence, arguments...)
}

// SortCaveats puts the worst warnings first.
func SortCaveats(list []Caveat) {
	slices.SortStableFunc(list, func(x, y Caveat) int { return kindIndex(x.Code) - kindIndex(y.Code) })
}

// CaveatItems returns an item for each caveat, in the order of the list. All caveats about a noisy
// machine share one item.
func CaveatItems(list []Caveat) (items document.List) {
	noisy := -1 // index in items of the item about a noisy machine
	var parts []Caveat
	for _, c := range list {
		switch {
		case c.part == "":
			items = append(items, KindOf(c.Code).Item(c.Text))
			continue
		case noisy < 0:
			noisy = len(items)
			items = append(items, document.Item{})
		}
		parts = append(parts, c)
		items[noisy] = noiseItem(parts)
	}
	return items
}

// noisyAdvice is the end of the line about a noisy machine.
const noisyAdvice = ": trust ratios more than times"

// noiseItem returns one item for all caveats about a noisy machine.
func noiseItem(list []Caveat) document.Item {
	var parts []string
	mild := true
	for _, c := range list {
		parts = append(parts, c.part)
		mild = mild && KindOf(c.Code).Weight == Mild
	}
	said := document.And(parts)
	return document.Item{Label: Noise, Text: said + noisyAdvice, Short: [2]string{said, "the machine was noisy" + noisyAdvice}, Alarm: !mild, Warning: true}
}

// MachineCaveats returns caveats for warnings that are not about a case: one caveat for each code
// and phase. The parameter "rounds" is the number of rounds of the run.
func MachineCaveats(all []result.Warning, rounds int) (list []Caveat) {
	type key struct{ code, phase string }
	var alike Groups[key, result.Warning]
	for _, w := range all {
		alike.Add(key{w.Code, w.Phase}, w)
	}
	for i, k := range alike.Keys {
		if i == MostKinds {
			list = append(list, Caveat{Code: k.code, Count: len(alike.Keys) - i, Text: MoreKinds(len(alike.Keys) - i)})
			break
		}
		ws := alike.Of[k]
		c := Caveat{Code: k.code, Count: len(ws), Text: likened(ws)}
		if k.phase != "" {
			c.Text = k.phase + ": " + c.Text
		}
		if part := KindOf(k.code).part; part != nil {
			c.part = part(ws, rounds)
		}
		if k.code == result.WarningCalibration {
			c.Text = fmt.Sprintf("%s: a fixed computing loop took over %s more or less than its median. Times vary with it, ratios within rounds less", c.part, document.Percent(result.OffSpeed))
		}
		list = append(list, c)
	}
	SortCaveats(list)
	return list
}

// RunCaveats returns the caveats of the warnings that are about the run, not about single cases. It
// leaves out the warning that fsync reaches no device, if [MachineItems] already says so.
func RunCaveats(a *stats.Analysis) []Caveat {
	return MachineCaveats(slices.DeleteFunc(slices.Clone(a.Warnings), func(w result.Warning) bool {
		return w.Code == result.WarningSync && a.Run.Machine.SyncFree
	}), a.Run.Rounds)
}

// RunWarnings lists the warnings that are about the run, not about single cases. All warnings about a
// noisy machine share one item.
func RunWarnings(a *stats.Analysis) document.List { return CaveatItems(RunCaveats(a)) }

// MachineWarnings lists warnings that are not about a case. All warnings about a noisy machine
// share one item.
func MachineWarnings(all []result.Warning, rounds int) document.List {
	return CaveatItems(MachineCaveats(all, rounds))
}

// NoiseDetails has the texts of a run's warnings about its noisy machine, for example which rounds
// were slow. It returns nil if there are none.
func NoiseDetails(a *stats.Analysis) document.Document {
	var alike Groups[string, result.Warning]
	for _, w := range a.Warnings {
		if KindOf(w.Code).part != nil {
			alike.Add(w.Code, w)
		}
	}
	if alike.Keys == nil {
		return nil
	}
	l := document.Map(alike.Keys, func(code string) document.Item {
		return document.Item{Label: "in detail", Text: likened(alike.Of[code])}
	})
	return document.Document{document.Details{Title: "The machine's noise in detail", Body: document.Document{document.List(l)}}}
}

// Listed returns the names of the kinds of warnings that a list of runs shows, the worst first,
// without duplicates. It leaves out kinds that nearly every run has.
func Listed(codes []string) (names []string) {
	codes = slices.Clone(codes)
	slices.SortFunc(codes, func(x, y string) int { return kindIndex(x) - kindIndex(y) })
	for _, code := range codes {
		if k := KindOf(code); !k.Usual && !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}
