package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Replay is a phase that runs the recorded events of an application. Within each connection and
// each transaction, events run in the order in which they began.
type Replay struct {
	// Operations are the names of the operations, by which latencies are grouped.
	Operations []string   `json:"operations" jsonschema:"minItems=1,maxItems=64,minLength=1"`
	Statements []Replayed `json:"statements" jsonschema:"minItems=1"`
	Events     Events     `json:"events"`

	// Connections is how many connections were recorded. If Clients is 0, each connection has
	// its own client. Otherwise a free client runs the next transaction of any connection, or
	// the next statement outside of a transaction.
	Connections int `json:"connections" jsonschema:"minimum=1"`
	Clients     int `json:"clients,omitempty"`

	// Speed divides the time between events. If Speed is 0, each client starts its next event when
	// its previous event has ended.
	Speed float64 `json:"speed,omitempty" jsonschema:"minimum=1e-6,maximum=1e6"`

	// PatienceMS has the same meaning as in [Mix].
	PatienceMS int64 `json:"patience_ms,omitempty"`
}

// Replayed is a statement with the parameters of all its executions.
type Replayed struct {
	Operation int    `json:"operation"`                                  // index into the Operations of the Replay
	Do        string `json:"do,omitempty" jsonschema:"constants=Replay"` // one of the Replay constants, instead of SQL
	SQL       string `json:"sql,omitempty" jsonschema:"minLength=1"`     // each parameter is a plain "?"
	AdHoc     bool   `json:"ad_hoc,omitempty"`
	Reads     bool   `json:"reads,omitempty"`  // set if the statement may return rows
	Script    bool   `json:"script,omitempty"` // set if the SQL has several statements, without parameters

	// Parameters have a value for each execution, in the order of the events.
	Parameters []Recorded `json:"parameters,omitempty"`
}

// The values of Do. An event with one of these values begins or ends a transaction by a call of the
// library, without SQL.
const (
	ReplayBegin    = "begin"
	ReplayCommit   = "commit"
	ReplayRollback = "rollback"
)

// Recorded is one parameter in all executions of its statement. Its values are in the field for
// its type. If only sizes were recorded, Lengths has them instead: the number of bytes of a text
// or blob, or the number of bytes in which SQLite stores an integer. The values are then made
// from the seed.
type Recorded struct {
	Type    driver.Type `json:"type"` // int, real, text or blob
	Ints    []int64     `json:"ints,omitempty" jsonschema:"signed"`
	Reals   []float64   `json:"reals,omitempty"`
	Bytes   [][]byte    `json:"bytes,omitempty"` // texts and blobs, in base64
	Lengths []int64     `json:"lengths,omitempty"`
	Nulls   []int       `json:"nulls,omitempty"` // indexes of the executions with NULL; their entries in the other lists are ignored

	// Times are the indexes of the executions whose value was a time.Time. The recorded text of
	// such a value is in [TimeFormat].
	Times []int `json:"times,omitempty"`

	// Zones has the abbreviation of the time zone for each entry of Times, such as "CET". ""
	// means UTC, or an offset without a name. If Zones is nil, every time has the zone "".
	Zones []string `json:"zones,omitempty"`

	// Monotonic has the entries of Times whose time.Time had a reading of the monotonic clock,
	// like the result of time.Now.
	Monotonic []int `json:"monotonic,omitempty"`
}

// TimeFormat is the layout in which a recorded time.Time is written as text. The driver mattn
// writes times in this layout, and SQLite's functions read it.
const TimeFormat = "2006-01-02 15:04:05.999999999-07:00"

// rows returns the number of executions for which the parameter has a value.
func (r *Recorded) rows() int {
	switch {
	case r.Lengths != nil:
		return len(r.Lengths)
	case r.Type == driver.Real:
		return len(r.Reals)
	case r.Type == driver.Int:
		return len(r.Ints)
	}
	return len(r.Bytes)
}

// Events are the recorded events, stored by column: entry i of each list belongs to event i.
type Events struct {
	Statement   []int   `json:"statement" jsonschema:"minItems=1"`          // index into Statements
	Connection  []int   `json:"connection"`                                 // number of the connection, from 0
	Transaction []int   `json:"transaction"`                                // number of the transaction, from 0, in the order in which clients take them; a statement outside of transactions has its own number
	AtNS        []int64 `json:"at_ns,omitempty"`                            // time in ns when the event began; only needed with a Speed
	Rows        []int64 `json:"rows" jsonschema:"minimum=-1"`               // how many rows were read; -1: not known
	Affected    []int64 `json:"affected,omitempty" jsonschema:"minimum=-1"` // how many rows each statement that does not read has changed; -1: not known; nil: not known for any event
	Failed      []int   `json:"failed,omitempty"`                           // indexes of the events that ended with an error
	Codes       []int   `json:"codes,omitempty"`                            // the result code of each event in Failed; 0: not known; nil: no code is known

	// Inserted are the last insert IDs that the application asked for. For the events that inserted
	// these IDs, Affected must be known.
	Inserted []Inserted `json:"inserted,omitempty"`
}

// Inserted is the ID of a row that an event has inserted.
type Inserted struct {
	Event int   `json:"event"` // index of the event
	ID    int64 `json:"id" jsonschema:"signed"`
}

// Units returns the indexes of the events of each transaction, in the order in which clients
// take the transactions.
func (e *Events) Units() [][]int {
	var units [][]int
	for i, t := range e.Transaction {
		for t >= len(units) {
			units = append(units, nil)
		}
		units[t] = append(units[t], i)
	}
	return units
}

// Len returns the number of events.
func (e *Events) Len() int { return len(e.Statement) }

// AtOnce returns the number of clients that run at the same time.
func (r *Replay) AtOnce() int {
	if r.Clients > 0 {
		return r.Clients
	}
	return r.Connections
}

// Limits of a replay.
const (
	MaxReplayed  = 1 << 20 // greatest number of events of a replay
	MaxReplayOps = 64      // greatest number of names of operations in a replay
	MaxSpeed     = 1e6
	MinSpeed     = 1e-6
)

// Check returns an error if r cannot be replayed. The error names the bad field of r.
func (r *Replay) Check() error {
	e, n := &r.Events, r.Events.Len()
	switch {
	case n == 0 || n > MaxReplayed:
		return fmt.Errorf("events has %d: want from 1 to %d", n, MaxReplayed)
	case len(e.Connection) != n || len(e.Transaction) != n || len(e.Rows) != n || r.Speed != 0 && len(e.AtNS) != n,
		e.Affected != nil && len(e.Affected) != n:
		return fmt.Errorf("events has lists of different lengths: want %d entries in each", n)
	case len(r.Operations) == 0 || len(r.Operations) > MaxReplayOps:
		return fmt.Errorf("operations has %d names: want from 1 to %d", len(r.Operations), MaxReplayOps)
	case r.Connections < 1 || r.Connections > MaxClients || r.Clients < 0 || r.Clients > MaxClients:
		return fmt.Errorf("it has %d connections and %d clients: want from 1 to %d", r.Connections, r.Clients, MaxClients)
	case r.PatienceMS < 0 || r.PatienceMS > MaxCount:
		return fmt.Errorf("patience_ms is %d: want from 0 to %d", r.PatienceMS, int64(MaxCount))
	case r.Speed != 0 && !(r.Speed >= MinSpeed && r.Speed <= MaxSpeed):
		return fmt.Errorf("speed is %v: want from %v to %v, or 0", r.Speed, MinSpeed, float64(MaxSpeed))
	}
	executions := make([]int, len(r.Statements))
	on, last := map[int]int{}, 0 // the connection of each transaction, and the greatest number of a transaction
	for i := range n {
		s, c, t := e.Statement[i], e.Connection[i], e.Transaction[i]
		switch {
		case s < 0 || s >= len(r.Statements):
			return fmt.Errorf("events.statement[%d] is %d: want the index of a statement", i, s)
		case c < 0 || c >= r.Connections:
			return fmt.Errorf("events.connection[%d] is %d: want less than connections", i, c)
		case r.Speed != 0 && (e.AtNS[i] < 0 || i > 0 && e.AtNS[i] < e.AtNS[i-1]):
			return fmt.Errorf("events.at_ns[%d] is %d: want the time order", i, e.AtNS[i])
		}
		executions[s]++
		if before, known := on[t]; t < 0 || t >= n || known && before != c {
			return fmt.Errorf("events.transaction[%d] is %d: want a number from 0, on one connection", i, t)
		}
		on[t] = c
		last = max(last, t)
	}
	if last >= len(on) {
		return fmt.Errorf("events.transaction has %d numbers up to %d: want all from 0", len(on), last)
	}
	for _, i := range e.Failed {
		if i < 0 || i >= n {
			return fmt.Errorf("events.failed has %d: want the index of an event", i)
		}
	}
	if e.Codes != nil && len(e.Codes) != len(e.Failed) {
		return fmt.Errorf("events.codes has %d entries: want %d, one for each of events.failed", len(e.Codes), len(e.Failed))
	}
	for k, code := range e.Codes {
		if code < 0 {
			return fmt.Errorf("events.codes[%d] is %d: want a result code of SQLite, or 0", k, code)
		}
	}
	for _, x := range e.Inserted {
		if x.Event < 0 || x.Event >= n || e.Affected == nil || e.Affected[x.Event] < 0 {
			return fmt.Errorf("events.inserted has %d: want the index of an event whose rows affected are known", x.Event)
		}
	}
	for i := range r.Statements {
		if err := r.Statements[i].check(executions[i], len(r.Operations)); err != nil {
			return fmt.Errorf("statements[%d] %w", i, err)
		}
	}
	return nil
}

func (s *Replayed) check(executions, operations int) error {
	switch {
	case s.Operation < 0 || s.Operation >= operations:
		return fmt.Errorf("has the operation %d: want the index of a name", s.Operation)
	case s.Do != "" && (!slices.Contains([]string{ReplayBegin, ReplayCommit, ReplayRollback}, s.Do) || s.SQL != "" || len(s.Parameters) > 0):
		return fmt.Errorf("does %q: want begin, commit or rollback without SQL", s.Do)
	case s.Do == "" && s.SQL == "":
		return fmt.Errorf("has no SQL")
	case s.Script && len(s.Parameters) > 0:
		return fmt.Errorf("is a script with parameters: want none")
	}
	for j := range s.Parameters {
		p := &s.Parameters[j]
		switch {
		case p.Type < driver.Int || p.Type > driver.Blob:
			return fmt.Errorf("has a parameter of type %v: want int, real, text or blob", p.Type)
		case p.rows() != executions:
			return fmt.Errorf("has %d values of parameter %d: want %d, one for each execution", p.rows(), j, executions)
		}
		total := int64(0)
		for _, n := range p.Lengths {
			if n < 0 || n > MaxValueBytes || p.Type == driver.Int && intBefore(n) < 0 {
				return fmt.Errorf("has a parameter of type %v with %d bytes", p.Type, n)
			}
			if total += n; total > math.MaxUint32 {
				return fmt.Errorf("has a parameter with more than 4 GiB in all")
			}
		}
		for _, r := range p.Nulls {
			if r < 0 || r >= executions {
				return fmt.Errorf("has NULL in execution %d of %d", r, executions)
			}
		}
		for _, r := range p.Times {
			if r < 0 || r >= executions || p.Type != driver.Text {
				return fmt.Errorf("has a time in execution %d of %d, of type %v", r, executions, p.Type)
			}
		}
		if p.Zones != nil && len(p.Zones) != len(p.Times) {
			return fmt.Errorf("has %d zones of %d times", len(p.Zones), len(p.Times))
		}
	}
	return nil
}

// ReplayBatch returns the parameters of all executions of a statement of a replay, or nil if the
// statement has no parameters. If only the lengths of values were recorded, the values are drawn
// from random streams. The streams' names begin with the text in the parameter "stream".
func (g *Gen) ReplayBatch(stream string, s *Replayed) *driver.Batch {
	if len(s.Parameters) == 0 {
		return nil
	}
	b := &driver.Batch{PerExec: 1, Columns: make([]driver.Column, len(s.Parameters))}
	for j := range s.Parameters {
		p, c := &s.Parameters[j], &b.Columns[j]
		c.Type = p.Type
		if len(p.Nulls) > 0 {
			c.Nulls = make([]bool, p.rows())
			for _, r := range p.Nulls {
				c.Nulls[r] = true
			}
		}
		switch {
		case p.Lengths != nil:
			fillLengths(c, newStream(g.seed, fmt.Sprintf("%s.%d", stream, j)), p.Lengths, p.Times)
		case p.Type == driver.Int:
			c.Ints = p.Ints
		case p.Type == driver.Real:
			c.Reals = p.Reals
		default:
			for _, v := range p.Bytes {
				c.Spans = append(c.Spans, driver.Span{Off: uint32(len(c.Data)), Len: uint32(len(v))})
				c.Data = append(c.Data, v...)
			}
		}
	}
	return b
}

// Time returns the time.Time that the program passed in an execution. The parameter "text" is the
// recorded form of this time. Time returns false if the program passed no time. A time with a
// reading of the monotonic clock is in this machine's zone, because package time has such readings
// only in the local zone.
func (p *Recorded) Time(execution int, text string) (t time.Time, ok bool, err error) {
	at, ok := slices.BinarySearch(p.Times, execution)
	if !ok {
		return t, false, nil
	}
	if t, err = time.ParseInLocation(TimeFormat, text, time.UTC); err != nil {
		return t, true, err
	}
	if _, ok := slices.BinarySearch(p.Monotonic, execution); ok {
		now := time.Now() // only time.Now returns a time with a monotonic reading; Time.In would remove the reading
		return now.Add(t.Sub(now)), true, nil
	}
	if p.Zones != nil && p.Zones[at] != "" {
		_, offset := t.Zone()
		t = t.In(time.FixedZone(p.Zones[at], offset))
	}
	return t, true, nil
}

// fillLengths appends to c one random value for each entry of "lengths". For a text, a blob or an
// integer, the entry is its length in bytes; for other values it has no effect. The parameter
// "times" has the indexes of the values that are times.
func fillLengths(c *driver.Column, s stream, lengths []int64, times []int) {
	isTime := make(map[int]bool, len(times))
	for _, r := range times {
		isTime[r] = true
	}
	for i, n := range lengths {
		row := int64(i)
		switch {
		case c.Type == driver.Int:
			c.Ints = append(c.Ints, intOfBytes(s.draw(row, 0), n))
		case c.Type == driver.Real:
			c.Reals = append(c.Reals, unit(s.draw(row, 0)))
		case isTime[i]:
			start := len(c.Data)
			c.Data = madeTime(s.draw(row, 0)).AppendFormat(c.Data, TimeFormat)
			c.Spans = append(c.Spans, driver.Span{Off: uint32(start), Len: uint32(len(c.Data) - start)})
		default:
			start := len(c.Data)
			for k := uint64(0); int64(len(c.Data)-start) < n; k++ {
				word := s.draw(row, k)
				for j := 0; j < 8 && int64(len(c.Data)-start) < n; j++ {
					c.Data = append(c.Data, byte(word>>(8*j)))
				}
			}
			if c.Type == driver.Text {
				letters(c.Data[start:])
			}
			c.Spans = append(c.Spans, driver.Span{Off: uint32(start), Len: uint32(n)})
		}
	}
}

// madeTime returns a time between 2001 and 2033. Its nanoseconds do not end in 0, so the texts of
// all such times have the same length.
func madeTime(random uint64) time.Time {
	return time.Unix(1_000_000_000+int64(below(random, 1_000_000_000)), 123_456_789).UTC()
}

// intBefore returns the greatest size below n in which SQLite stores integers. Sizes are in bytes.
// It returns 0 for 0, and -1 if SQLite never stores an integer in n bytes. The integers 0 and 1
// take 0 bytes.
func intBefore(n int64) int64 {
	sizes := []int64{0, 1, 2, 3, 4, 6, 8}
	switch i := slices.Index(sizes, n); i {
	case -1, 0:
		return int64(i)
	default:
		return sizes[i-1]
	}
}

// intOfBytes returns a number ≥ 0 that SQLite stores in n bytes.
func intOfBytes(random uint64, n int64) int64 {
	switch before := intBefore(n); {
	case n == 0:
		return int64(below(random, 2))
	case before == 0:
		return int64(2 + below(random, 126))
	default:
		low, high := uint64(1)<<(8*before-1), uint64(1)<<(8*n-1)-1
		return int64(low + below(random, high-low+1))
	}
}
