package record

import "time"

// Executed is a statement of a script or a trace.
type Executed struct {
	SQL  string
	Took time.Duration // 0 if it is not known
}

// FromStatements returns a recording of statements that one connection runs in order.
func FromStatements(list []Executed) *Recording {
	rec := &Recording{Values: true}
	texts := map[string]*Statement{}
	var at time.Duration
	var tx, last int64
	var open savepoints
	for _, x := range list {
		if texts[x.SQL] == nil {
			texts[x.SQL] = &Statement{SQL: x.SQL}
		}
		does, name := controlOf(x.SQL)
		if tx == 0 && (does == controlBegin || does == controlSavepoint) {
			last++
			tx = last
		}
		rec.Events = append(rec.Events, Event{
			At: at, Took: x.Took, Connection: 1, Transaction: tx, Statement: texts[x.SQL], Rows: -1, Affected: -1,
		})
		at += max(x.Took, 1) // every event gets its own time, which keeps the order of events
		if over := open.after(does, name); does == controlEnd || over {
			tx, open = 0, nil
		}
	}
	return rec
}
