// Package conditions describes how a run was measured: drivers, settings in force, risks, known
// defects, the machine, and cases without figures. Every report that is based on trials shows
// these.
package conditions

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/module"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Label returns the name of a case's driver. Usually that is the name that the user requested. If
// the user requested a path, Label returns the name that the driver reports, followed by the path
// in brackets. The path is left out if it is just "./" and that name.
func Label(c *result.Case) string {
	own, d := c.Info.Name, c.Driver
	switch {
	case own == "" || !strings.ContainsAny(result.BaseDriver(d), `/\`):
		return d
	case d == "./"+own:
		return own
	}
	return own + " (" + d + ")"
}

// Name returns the name of an outcome's row. If o.As is set, it is o.As. Otherwise it is the
// driver's [Label], followed by the measured version of the driver's library. The version is left
// out if the label contains one.
func Name(o *stats.Outcome) string {
	if o.As != "" {
		return o.As
	}
	d := Label(o.Case)
	if strings.HasPrefix(d, result.BaseDriver(d)+"@") {
		return d
	}
	if v := Version(o); v != "" {
		return d + " " + v
	}
	return d
}

func Version(o *stats.Outcome) string {
	p := o.Proof()
	if p == nil {
		return ""
	}
	if o.Case.Build["directory"] != "" {
		return revision(o.Case.Build)
	}
	return ShortVersion(p.ModuleVersion)
}

// ShortVersion shortens a Go pseudo-version to its commit, such as 9328d04.
func ShortVersion(v string) string {
	if rev, err := module.PseudoVersionRev(v); err == nil {
		return rev[:min(7, len(rev))]
	}
	return v
}

func revision(build map[string]string) string {
	v := build["vcs.revision"]
	v = v[:min(len(v), 7)]
	if build["vcs.modified"] != "" {
		v += "+changes"
	}
	return v
}

// SQLiteVersion returns the version of SQLite that the case's worker reported, or
// [document.Absent] if it reported none.
func SQLiteVersion(o *stats.Outcome) string {
	if p := o.Proof(); p != nil {
		return p.SQLiteVersion
	}
	return document.Absent
}

// SQLiteBuild returns a driver's SQLite version and those compile options that change the speed of
// every statement.
func SQLiteBuild(o *stats.Outcome) string {
	words := []string{SQLiteVersion(o)}
	if p := o.Proof(); p != nil {
		for _, option := range p.CompileOptions {
			if n, _, _ := strings.Cut(option, "="); n == "DEFAULT_MEMSTATUS" || n == "THREADSAFE" {
				words = append(words, option)
			}
		}
	}
	return strings.Join(words, " ")
}

// CommandLine formats a command so that it can be typed into a POSIX shell.
func CommandLine(arguments []string) string {
	return document.Join(arguments, " ", ShellWord)
}

// ShellWord quotes a word, if necessary, so that a POSIX shell reads it as one unchanged word.
func ShellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Over returns "host NAME: " for a run that was measured on another machine. Otherwise it returns
// "".
func Over(h *result.Host) string {
	if h == nil {
		return ""
	}
	return "host " + h.Name + ": "
}

func Machine(m result.Machine) string {
	var words []string
	add := func(known bool, w string) {
		if known {
			words = append(words, w)
		}
	}
	add(m.Hostname != "", m.Hostname)
	add(m.Cores > 0, fmt.Sprintf("%d × %s", m.Cores, m.CPU))
	add(m.MemoryBytes > 0, document.Size(m.MemoryBytes))
	add(true, m.OS+"/"+m.Arch+" "+m.Kernel)
	add(m.Governor != "", "governor "+m.Governor)
	add(m.Turbo != "", "turbo "+m.Turbo)
	add(m.SMT != "", "SMT "+m.SMT)
	add(m.Virtual != "", "virtual: "+m.Virtual)
	return strings.Join(words, ", ")
}

// Stolen says how much CPU time other virtual machines took from the run's virtual machine.
func Stolen(run *result.Run) string {
	if run.Steal == nil || run.Machine.Virtual == "" {
		return ""
	}
	return ", steal time " + document.Percent(*run.Steal)
}

func Storage(m result.Machine) string {
	s := fmt.Sprintf("%s on %s", m.Directory, m.FileSystem)
	if m.Device != "" {
		s += ", " + m.Device
	}
	if m.SyncFree {
		s += ": fsync reaches no device, so synchronous costs nothing here"
	}
	return s
}

// Stopped says how many rounds were run and why the run ended.
func Stopped(a *stats.Analysis) string {
	rounds := fmt.Sprintf("%d complete", a.Run.Rounds)
	switch a.Run.Stopped {
	case result.StoppedRounds:
		return rounds + ", as requested"
	case result.StoppedSettled:
		if a.Run.Precision > 0 {
			return rounds + ": all cases are settled"
		}
		return rounds + ": then every verdict was clear"
	case result.StoppedTime:
		return rounds + ": another round would not have ended in time"
	case result.StoppedInterrupted:
		_, trials := WholeRounds(a.Run)
		return fmt.Sprintf("%s, %s: interrupted", rounds, document.Counted(int64(trials), "trial"))
	case result.StoppedNothingLeft:
		if HostLost(a) {
			return rounds + ": then the machine went away"
		}
		return rounds + ": nothing was left to measure, because every case had failed or was refused"
	case "": // unfinished: the run's Rounds is set only when the run ends
		whole, trials := WholeRounds(a.Run)
		return fmt.Sprintf("%d complete, %s: the run has not ended, or was killed", whole, document.Counted(int64(trials), "trial"))
	}
	return rounds + ": " + a.Run.Stopped
}

// WholeRounds returns the number of complete rounds and the number of trials of a run. All rounds
// before the last one are complete. The last round is complete if it has a trial of each case that
// had not failed before.
func WholeRounds(run *result.Run) (rounds, trials int) {
	byRound := map[int]map[int]bool{} // ids of cases with a trial, by round
	ended := map[int]int{}            // round in which a case failed, by id of the case; 0 if before the first round
	for i := range run.Trials {
		t := &run.Trials[i]
		if byRound[t.Round] == nil {
			byRound[t.Round] = map[int]bool{}
		}
		byRound[t.Round][t.Case] = true
		if t.Round > 0 {
			trials++
		}
		if t.Status != result.OK {
			ended[t.Case] = t.Round
		}
	}
	for len(byRound[rounds+2]) > 0 {
		rounds++
	}
	if len(byRound[rounds+1]) == 0 {
		return rounds, trials
	}
	for _, c := range run.Cases {
		last, lost := ended[c.ID]
		if due := rounds == 0 || byRound[rounds][c.ID]; due && !byRound[rounds+1][c.ID] && (!lost || last > rounds) {
			return rounds, trials
		}
	}
	return rounds + 1, trials
}

// Settings describes the settings in force in a case. If a setting has different values in
// different phases, it names the phases of each value.
func Settings(c *result.Case) []string {
	all := c.Settings
	for _, s := range c.InForce {
		all = all.With(s)
	}
	var words []string
	for _, n := range stats.SettingNames(all) {
		var phases Groups[string, string] // names of phases by the setting's value
		for _, p := range c.Phases {
			phases.Add(cmp.Or(c.SettingsIn(p)[n], "not set"), p)
		}
		switch values := phases.Keys; len(values) {
		case 0:
			words = append(words, n+"="+all[n])
		case 1:
			words = append(words, n+"="+values[0])
		default:
			for i, v := range values {
				values[i] = v + " in " + strings.Join(phases.Of[v], ", ")
			}
			words = append(words, n+"=("+strings.Join(values, "; ")+")")
		}
	}
	return words
}

func MachineItems(m result.Machine) document.List {
	return document.List{{Label: "machine", Text: Machine(m)}, {Label: "databases", Text: Storage(m), Alarm: m.SyncFree}}
}

// MachinesDiffer lists the differences between two machines that can change figures.
func MachinesDiffer(a, b result.Machine) []string {
	var words []string
	for _, f := range []struct{ what, a, b string }{
		{"host", a.Hostname, b.Hostname},
		{"CPU", a.CPU, b.CPU},
		{"cores", fmt.Sprint(a.Cores), fmt.Sprint(b.Cores)},
		{"system", a.OS + "/" + a.Arch + " " + a.Kernel, b.OS + "/" + b.Arch + " " + b.Kernel},
		{"governor", a.Governor, b.Governor},
		{"file system", a.FileSystem + " " + a.Device, b.FileSystem + " " + b.Device},
	} {
		if f.a != f.b {
			words = append(words, fmt.Sprintf("%s %s and %s", f.what, cmp.Or(strings.TrimSpace(f.a), "unknown"), cmp.Or(strings.TrimSpace(f.b), "unknown")))
		}
	}
	return words
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)
