package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// afterSchema is the name, in messages, of the SQL that runs before the first phase.
const afterSchema = "the schema"

// inOrder is called when the worker has sent an answer. The parameter "typ" is the type of this answer.
// inOrder fails the trial if the worker should first have reported something else: the settings, the inserted
// tables or the loaded database.
func (s *session) inOrder(typ string) error {
	if s.unanswered != "" && slices.Contains([]string{protocol.TypePhase, protocol.TypeSettings, protocol.TypeSample, protocol.TypeDone}, typ) {
		return s.broken("the worker answered %q without having answered %q for phase %s: want the rows that it has read back from the tables of verify", typ, protocol.TypeInserted, s.unanswered)
	}
	if s.unread == "" || !slices.Contains([]string{protocol.TypePhase, protocol.TypeLoaded, protocol.TypeSample, protocol.TypeServed, protocol.TypeDone}, typ) {
		if s.untold && (typ == protocol.TypeDone || typ == protocol.TypePhase && !s.loads) {
			return s.broken("the worker answered %q without having answered %q", typ, protocol.TypeLoaded)
		}
		return nil
	}
	return s.broken("the worker answered %q without having read the settings back after %s", typ, s.unread)
}

// settings checks the values that every connection reported after the schema, or after a
// phase, against the values that must be in force.
func (s *session) settings(a *protocol.Response) error {
	after := afterSchema
	if a.Phase != "" {
		after = "phase " + a.Phase
	}
	if after != s.unread {
		return s.broken("the worker read the settings back after %s, which has not run or was read back before", after)
	}
	s.unread = ""
	declares := s.declared(a.Phase)
	n := len(a.Connections)
	if want := s.want.Settings.Connections(); n < want {
		return s.broken("the worker read back the settings of %d connections after %s, with a pool of %d", n, after, want)
	}
	s.inForce = a.Connections[0]
	var first []change
	var bad []int
	differ := driver.Settings{}
	for i, got := range a.Connections {
		list := s.changes(got)
		for _, c := range list {
			differ[c.Setting] = c.Wanted
		}
		if len(list) > 0 {
			if bad = append(bad, i+1); first == nil {
				first = list
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	s.trial.ReadBack = &result.ReadBack{After: a.Phase, Wanted: differ, Connections: a.Connections}
	words := make([]string, len(first))
	for i, c := range first {
		words[i] = c.String()
	}
	return s.failed(result.Refused, protocol.CodeSetting, "%s, on %s, after %s of %s: %s", strings.Join(words, "; "), which(bad, n), after, s.want.Workload, remedy(first, len(bad) == n, declares))
}

// declared records the changes of settings that the workload declares for the schema (phase "") or the
// current phase. It returns false if a workload cannot declare changes for this phase, because the phase
// is not a script.
func (s *session) declared(phase string) bool {
	switch {
	case phase == "":
		s.changed = s.changed.With(s.want.Plan.Changes)
		return true
	case s.current().Script != "":
		s.changed = s.changed.With(s.current().Changes)
		return true
	}
	return false
}

// inForce returns the settings that are in force in each timed phase. It leaves out a phase if its settings
// are equal to the parameter "asked".
func inForce(asked driver.Settings, p *plan.Plan) map[string]driver.Settings {
	var list map[string]driver.Settings
	now := asked.With(p.Changes)
	for i := range p.Phases {
		ph := &p.Phases[i]
		now = now.With(ph.Changes)
		if !ph.Untimed && !maps.Equal(now, asked) {
			if list == nil {
				list = map[string]driver.Settings{}
			}
			list[ph.Name] = now
		}
	}
	return list
}

// everInForce returns an error if a setting that the user gave is not in force in any timed phase, because the
// workload changes it first.
func everInForce(c *Case, given driver.Settings) error {
	for _, d := range driver.Vocabulary {
		want, ok := given[d.Name]
		if ok && !slices.ContainsFunc(c.Phases, func(p string) bool { return c.SettingsIn(p)[d.Name] == want }) {
			return fmt.Errorf("setting %s=%s: it would never be timed, since the workload changes it to %s: leave it out",
				d.Name, want, c.SettingsIn(c.Phases[0])[d.Name])
		}
	}
	return nil
}

// asked returns the settings that the case's worker is asked to use.
func (c *Case) asked() driver.Settings { return Asked(c.Info, c.Settings, c.Given) }

// Asked returns the settings that a driver is asked to use. A driver that is not a cluster is not asked to
// use settings that exist only for clusters. A cluster stores data in its own way and may not support all
// settings of the workload (see [driver.Info.Limit]). It is not asked to use the unsupported settings of the
// workload. But it is asked to use every setting that the user gave, and refuses the trial if it does not
// support one of them.
func Asked(i driver.Info, all, given driver.Settings) driver.Settings {
	s := result.OwnSettings(i.Kind, all)
	if i.Kind != driver.Cluster {
		return s
	}
	for _, d := range driver.Vocabulary {
		v, set := s[d.Name]
		_, given := given[d.Name]
		_, limited := i.Limit(d.Name, v)
		if set && !given && limited && (d.Pragma || d.Name == "txlock") {
			delete(s, d.Name)
		}
	}
	return s
}

// leftOut returns a warning that lists the settings that the case's worker is not asked to use, or nil if there
// are no such settings. If the parameter "once" is true, the case represents all cases that differ only in
// these settings.
func (c *Case) leftOut(once bool) []result.Warning {
	asked := c.asked()
	var list []string
	for _, d := range driver.Vocabulary {
		if v, set := c.Settings[d.Name]; set && asked[d.Name] == "" {
			list = append(list, d.Name+"="+v)
		}
	}
	switch {
	case list == nil:
		return nil
	case c.Info.Kind == driver.Cluster:
		return []result.Warning{{Code: result.WarningUnasked, Message: fmt.Sprintf("%s is measured without %s: it decides that itself", c.Driver, strings.Join(list, ", "))}}
	}
	how := "without"
	if once {
		how = "once, and without"
		for i := range list {
			list[i], _, _ = strings.Cut(list[i], "=")
		}
	}
	return []result.Warning{{Code: result.WarningUnasked, Message: fmt.Sprintf("%s is measured %s %s: it is no cluster", c.Driver, how, strings.Join(list, ", "))}}
}

// idle returns a warning for each setting that the user gave although it has no effect in any phase. It
// checks the settings txlock, pool_readers, write_mutex and processes.
func idle(given driver.Settings, p *plan.Plan) []result.Warning {
	list := idleLock(given, p)
	if !slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool { return ph.Mix != nil }) {
		for _, of := range []struct{ name, none string }{{"pool_readers", "0"}, {"write_mutex", "off"}, {"processes", "1"}} {
			if v, ok := given[of.name]; ok && v != of.none {
				list = append(list, result.Warning{Code: result.WarningIdle, Message: of.name + "=" + v + " changes nothing here: no phase is a mix"})
			}
		}
	}
	return list
}

// idleLock returns a warning if the user gave txlock but no timed phase begins a
// transaction.
func idleLock(given driver.Settings, p *plan.Plan) []result.Warning {
	lock, ok := given["txlock"]
	if !ok || slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool {
		return !ph.Untimed && (ph.Insert != nil && ph.Insert.Transaction != "each" ||
			ph.Replay != nil && slices.ContainsFunc(ph.Replay.Statements, func(s plan.Replayed) bool { return s.Do == plan.ReplayBegin }) ||
			ph.Mix != nil && slices.ContainsFunc(ph.Mix.Operations, func(o plan.Operation) bool { return o.Transaction }))
	}) {
		return nil
	}
	return []result.Warning{{Code: result.WarningIdle, Message: "txlock=" + lock + " changes nothing here: no timed phase begins a transaction"}}
}

// change is a PRAGMA whose value differs from the value that must be in force.
type change struct {
	driver.Mismatch
	from string // origin of the value that must be in force: fromUser, fromWorkload or fromLibrary
	kept bool   // whether Got is the value that the setting had when the database was opened
}

// Origins of the value that a setting must have.
const (
	fromUser     = "user"     // the user asked for it
	fromWorkload = "workload" // the workload declares the change
	fromLibrary  = "library"  // nobody set it; it is the value that the setting had when the database was opened
)

// The constant "nothing" is the word that messages show for a setting without a value.
const nothing = "nothing"

func (c change) String() string {
	switch c.from {
	case fromWorkload:
		return fmt.Sprintf("%s: wanted %s, as the workload declares, got %s", c.Setting, c.Wanted, c.Got)
	case fromLibrary:
		return fmt.Sprintf("%s: %s when it was opened, now %s", c.Setting, c.Wanted, c.Got)
	}
	return c.Mismatch.String()
}

// changes returns the settings of one connection that have an unexpected value. The expected value of a
// setting is the first of these that exists:
//  1. the value to which the workload declares a change
//  2. the value that the user or the workload asked for
//  3. the value when the database was opened
func (s *session) changes(got driver.Settings) []change {
	var list []change
	asked := s.want.asked()
	for _, d := range driver.Vocabulary {
		if !d.Pragma {
			continue
		}
		var wanted []string
		from := fromUser
		if w, ok := s.changed[d.Name]; ok {
			wanted, from = []string{w}, fromWorkload
		} else if w, ok := asked[d.Name]; ok {
			wanted = []string{w}
		} else {
			from = fromLibrary
			for _, c := range s.trial.Proof.Connections {
				wanted = append(wanted, c[d.Name])
			}
		}
		if g := got[d.Name]; !slices.Contains(wanted, g) {
			list = append(list, change{
				driver.Mismatch{Setting: d.Name, Wanted: cmp.Or(wanted[0], nothing), Got: cmp.Or(g, nothing)},
				from, g == s.trial.Proof.Connections[0][d.Name],
			})
		}
	}
	return list
}

// The function "which" returns words for messages that say which connections have unexpected settings. The
// parameter "bad" has their numbers, and n is the number of all connections.
func which(bad []int, n int) string {
	switch {
	case len(bad) == n && n > 1:
		return fmt.Sprintf("all %d connections", n)
	case len(bad) == 1 && n > 1:
		return fmt.Sprintf("connection %d of %d alone", bad[0], n)
	case len(bad) == 1:
		return "the connection"
	}
	return fmt.Sprintf("%d connections of %d, first on connection %d", len(bad), n, bad[0])
}

// remedy tells the user what to do about changed settings. Its text follows a message that names the schema
// or the phase. The text refers to the schema or phase as "there". If the parameter "all" is set, the settings
// changed on all connections. If the parameter "declares" is set, the workload can declare the changes of this
// schema or phase.
func remedy(list []change, all, declares bool) string {
	var pragmas, values []string
	for _, c := range list {
		if c.from == fromWorkload {
			pragma := "PRAGMA " + c.Setting
			switch {
			case all && c.kept:
				return fmt.Sprintf("no %s there changes it: leave it out of changes settings", pragma)
			case all:
				return fmt.Sprintf("correct %s there, or declare the new value: changes settings: {%s: %s}", pragma, c.Setting, c.Got)
			}
			return fmt.Sprintf("%s there changes one connection only: write %s: %s under settings instead, and leave it out of changes settings", pragma, c.Setting, c.Wanted)
		}
		pragmas = append(pragmas, "PRAGMA "+c.Setting)
		if c.Got != nothing {
			values = append(values, c.Setting+": "+c.Got)
		}
	}
	words := fmt.Sprintf("delete %s there", strings.Join(pragmas, " and "))
	if !all {
		words += ", which changes one connection only"
	}
	if values == nil {
		return words
	}
	words += ", or write " + strings.Join(values, " and ") + " under settings"
	switch {
	case all && declares:
		words += fmt.Sprintf(", or, if it is meant, write changes settings: {%s} next to it", strings.Join(values, ", "))
	case all:
		words += ", or write it in a script phase that declares it with changes settings"
	}
	return words
}
