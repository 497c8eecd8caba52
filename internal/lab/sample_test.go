package lab_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// histogram returns an encoded histogram of n equal latencies.
func histogram(n int, each time.Duration) string {
	h := latency.New()
	for range n {
		h.Record(int64(each))
	}
	return h.Summary("").Histogram
}

var someChecksum = strings.Repeat("0123456789abcdef", 4)

// samplesOfAll returns, for each kind of phase, the phase with the sample of a correct worker.
func samplesOfAll() map[string]struct {
	phase plan.Phase
	want  lab.Expectation
	said  protocol.Sample
} {
	reads := plan.Call{Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 2}
	mix := plan.Mix{Clients: 4, Count: 100, Operations: []plan.Operation{
		{Name: "read", Weight: 9, Calls: []plan.MixCall{{Call: reads}}},
		{Name: "write", Weight: 1, Calls: []plan.MixCall{{Call: plan.Call{Rows: -1}}}},
	}}
	lasts, rated := mix, mix
	lasts.Count, lasts.DurationMS = 0, 20
	rated.Count, rated.DurationMS, rated.Rate = 0, 20, 5000
	said := func(name string, operations, rows int64) protocol.Sample {
		return protocol.Sample{Phase: name, WallNS: 25e6, UserNS: 20e6, SystemNS: 1e6, Operations: operations, Rows: rows, Costs: protocol.Costs{DatabaseBytes: 4096}}
	}
	mixed := func(name string) protocol.Sample {
		m := said(name, 100, 180)
		m.Checksum, m.Failed = someChecksum, 3
		m.Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 2, WaitNS: 10}, {Code: 517, Name: "busy", Count: 1, WaitNS: 5}}
		m.Waits = []protocol.Wait{{For: protocol.WaitConnection, Count: 9, WaitNS: 4e6}, {For: protocol.WaitMutex}}
		m.Latency = []protocol.Latency{
			{Operation: "read", Count: 90, Histogram: histogram(90, time.Millisecond)},
			{Operation: "write", Count: 10, Failed: 3, Histogram: histogram(10, 900*time.Microsecond)},
		}
		return m
	}
	query := said("query", 40, 400)
	query.Checksum = someChecksum
	query.Latency = []protocol.Latency{{Operation: "query", Count: 40, Histogram: histogram(40, time.Millisecond)}}
	once := said("once", 1, 400)
	once.Checksum = someChecksum
	type kind = struct {
		phase plan.Phase
		want  lab.Expectation
		said  protocol.Sample
	}
	return map[string]kind{
		"insert": {plan.Phase{Name: "insert", Insert: &plan.Insert{}}, lab.Expectation{Operations: 500, Rows: 500}, said("insert", 500, 500)},
		"script": {plan.Phase{Name: "script", Script: "VACUUM"}, lab.Expectation{Operations: 1}, said("script", 1, 0)},
		"query":  {plan.Phase{Name: "query", Query: &plan.Query{Clients: 2}}, lab.Expectation{Operations: 40, Rows: 400, Checksum: someChecksum}, query},
		"once":   {plan.Phase{Name: "once", Query: &plan.Query{Clients: 1}}, lab.Expectation{Operations: 1, Rows: -1}, once},
		"mix":    {plan.Phase{Name: "mix", Mix: &mix}, lab.Expectation{Operations: 100, Executions: []int64{90, 10}, Rows: -1}, mixed("mix")},
		"lasts":  {plan.Phase{Name: "lasts", Mix: &lasts}, lab.Expectation{Operations: -1, Rows: -1}, mixed("lasts")},
		"rated":  {plan.Phase{Name: "rated", Mix: &rated}, lab.Expectation{Operations: -1, Rows: -1}, mixed("rated")},
	}
}

func TestHonestSamples(t *testing.T) {
	metrics := map[string]string{"mix": "time/op", "lasts": "time/op", "rated": "latency"}
	for name, k := range samplesOfAll() {
		saw := lab.Seen{Possible: 26 * time.Millisecond, Between: 26 * time.Millisecond, Cores: 1}
		got, doubts, faults := lab.CheckSample(&k.phase, k.want, saw, &k.said)
		if len(doubts)+len(faults) > 0 {
			t.Errorf("%s: %+v, %+v", name, doubts, faults)
		}
		want := "time"
		if metrics[name] != "" {
			want = metrics[name]
		}
		if got.SeenNS != 26e6 {
			t.Errorf("%s: the lab saw %d ns", name, got.SeenNS)
		}
		if got.Metric != want || got.Value() <= 0 {
			t.Errorf("%s: metric %q with the value %v, want %q", name, got.Metric, got.Value(), want)
		}
		if want == "time" {
			continue
		}
		if !slices.Equal(got.Waits, k.said.Waits) {
			t.Errorf("%s: waits %+v, want what the worker says", name, got.Waits)
		}
		if l := got.Latency[0]; l.MeanNS < 990_000 || l.P50NS != l.MaxNS || l.P99NS != l.MaxNS || l.MaxNS < 1e6 || l.MaxNS > 1_001_000 || l.Histogram == "" {
			t.Errorf("%s: latencies computed from the histogram: %+v", name, l)
		}
		if got.Latency[1].Failed != 3 || got.Errors[1].Name != "SQLITE_BUSY_SNAPSHOT" {
			t.Errorf("%s: %+v, %+v", name, got.Latency[1], got.Errors)
		}
	}
}

// TestLies checks that a false value of any key is a fault whose message names the phase, the key and the
// expected value.
func TestLies(t *testing.T) {
	for _, c := range []struct {
		kind string
		lie  func(*protocol.Sample)
		code string
		want string // beginning of the message after the phase
	}{
		{"insert", func(m *protocol.Sample) { m.Rows = 7 }, "rows", "rows is 7: expected 500"},
		{"insert", func(m *protocol.Sample) { m.Operations = 501 }, "protocol", "operations is 501: want 500, the rows of its data sets"},
		{"insert", func(m *protocol.Sample) { m.Failed = 1 }, "protocol", "failed is 1: want 0"},
		{"insert", func(m *protocol.Sample) { m.WallNS = 1 }, "protocol", "wall_ns is 1: want at least 25µs"},
		{"insert", func(m *protocol.Sample) { m.ColdNS = -m.WallNS/2 - 1 }, "protocol", "cold_ns is -12500001: want at most half of wall_ns"},
		{"query", func(m *protocol.Sample) { m.FirstRowNS = -1 }, "protocol", "first_row_ns is -1"},
		{"query", func(m *protocol.Sample) { m.FirstRowNS = m.WallNS + 1 }, "protocol", "first_row_ns is"},
		{"insert", func(m *protocol.Sample) { m.ColdNS = m.WallNS/2 + 1 }, "protocol", "cold_ns is 12500001: want at most half of wall_ns"},
		{"insert", func(m *protocol.Sample) { m.WallNS = 0 }, "protocol", "wall_ns is 0"},
		{"insert", func(m *protocol.Sample) { m.Caches = &protocol.Caches{FileBytes: -1} }, "protocol", "caches.file_bytes is -1"},
		{"insert", func(m *protocol.Sample) { m.Caches = &protocol.Caches{FileBytes: 10, CachedBytes: 11} }, "protocol", "caches.cached_bytes is 11: want at most 10, the size of the files"},
		{"insert", func(m *protocol.Sample) { m.WallNS = -5 }, "protocol", "wall_ns is -5"},
		{"insert", func(m *protocol.Sample) { m.WallNS = 40e6 }, "protocol", "wall_ns is 40000000, 40ms: want at most 30ms"},
		{"insert", func(m *protocol.Sample) { m.Allocs = -1 }, "protocol", "allocs is -1: want a number from 0 to 2^53"},
		{"insert", func(m *protocol.Sample) { m.AllocBytes = 1<<53 + 1 }, "protocol", "alloc_bytes is 9007199254740993"},
		{"insert", func(m *protocol.Sample) { m.PeakRSSBytes = -1 }, "protocol", "peak_rss_bytes is -1"},
		{"insert", func(m *protocol.Sample) { m.DatabaseBytes = -1 }, "protocol", "database_bytes is -1"},
		{"insert", func(m *protocol.Sample) { m.WALBytes = -1 }, "protocol", "wal_bytes is -1"},
		{"insert", func(m *protocol.Sample) { m.CheckpointNS = -1 }, "protocol", "checkpoint_ns is -1"},
		{"insert", func(m *protocol.Sample) { m.UserNS = -1 }, "protocol", "user_ns is -1"},
		{"insert", func(m *protocol.Sample) { m.Retries = 1 }, "protocol", "retries is 1: want at most 0"},
		{"insert", func(m *protocol.Sample) { m.Errors = []protocol.ErrorCount{{Code: 5, Count: 1}} }, "protocol", "errors counts 1 in all: want 0"},
		{"insert", func(m *protocol.Sample) { m.Unlocked = []protocol.ErrorCount{{Code: 5, Count: 1}} }, "protocol", "skipped is 0, different 0, and unlocked has 1 entries: want none of them, only a replay has them"},
		{"insert", func(m *protocol.Sample) { m.Results = []protocol.ErrorCount{{Code: 5, Count: 1}} }, "protocol", "results has 1 entries"},
		{"insert", func(m *protocol.Sample) { m.Latency = []protocol.Latency{{}} }, "protocol", "latency has 1 entries: want 0"},
		{"insert", func(m *protocol.Sample) { m.Checksum = someChecksum }, "protocol", "checksum is set"},
		{"script", func(m *protocol.Sample) { m.Operations = 2 }, "protocol", "operations is 2: want 1, the script"},
		{"script", func(m *protocol.Sample) { m.Rows = 2 }, "rows", "rows is 2: expected 0"},
		{"query", func(m *protocol.Sample) { m.Operations = 20 }, "protocol", "operations is 20: want 40, its executions by all clients"},
		{"query", func(m *protocol.Sample) { m.Rows = 399 }, "rows", "rows is 399: expected 400"},
		{"query", func(m *protocol.Sample) { m.Checksum = "" }, "protocol", "checksum is missing: want 64 lower-case"},
		{"query", func(m *protocol.Sample) { m.Checksum = m.Checksum[:12] }, "protocol", `checksum is "0123456789ab", of 12 characters: want 64 lower-case`},
		{"query", func(m *protocol.Sample) { m.Checksum = strings.ToUpper(m.Checksum) }, "protocol", `checksum is "0123456789ABCDEF`},
		{"query", func(m *protocol.Sample) { m.Checksum = "f" + m.Checksum[1:] }, "checksum", "checksum is f123456789ab…: expected 0123456789ab…"},
		{"query", func(m *protocol.Sample) { m.WallNS = 19e6 }, "protocol", "wall_ns is 19000000: want at least 19."},
		{"query", func(m *protocol.Sample) { m.Latency = nil }, "protocol", "latency has 0 entries: want 1, of query"},
		{"query", func(m *protocol.Sample) { m.Latency[0].Operation = "select" }, "protocol", `latency[0].operation is "select": want "query"`},
		{"once", func(m *protocol.Sample) { m.Checksum = "" }, "protocol", "checksum is missing"},
		{"once", func(m *protocol.Sample) { m.WallNS = 1 }, "protocol", "wall_ns is 1: want at least 4.05µs"},
		{"once", func(m *protocol.Sample) { m.Latency = []protocol.Latency{{Operation: "query"}} }, "protocol", "latency has 1 entries: want 0"},
		{"mix", func(m *protocol.Sample) { m.Operations = 100_000 }, "protocol", "operations is 100000: want 100, its count"},
		{"mix", func(m *protocol.Sample) { m.Checksum = "" }, "protocol", "checksum is missing"},
		{"mix", func(m *protocol.Sample) { m.Failed = 2 }, "protocol", "errors counts 3 in all: want 2, as failed says"},
		{"mix", func(m *protocol.Sample) { m.Failed, m.Errors = 0, nil }, "protocol", "latency has 3 failed in all: want 0"},
		{"mix", func(m *protocol.Sample) { m.Failed, m.Errors[0].Count = 100, 99 }, "no-operation", "failed is 100: not one"},
		{"mix", func(m *protocol.Sample) { m.Failed = -3 }, "protocol", "failed is -3"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].Code = 5 }, "protocol", "errors[1].code is 5, as in an earlier entry"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].Code = 0 }, "protocol", "errors[1].code is 0"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].Code = -1 }, "protocol", "errors[1].code is -1, canceled: no operation has a timeout"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].Code = -2 }, "protocol", "errors[1].code is -2: want an extended result code"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].Code = 2067 }, "protocol", "errors[1].code is 2067: want one of a lock"},
		{"mix", func(m *protocol.Sample) { m.Results = []protocol.ErrorCount{{Code: 2067, Count: 1}} }, "protocol", "results[0].code is 2067: want one that an operation declares"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].EndedEarly = 1 }, "protocol", "latency[0].ended_early is 1: want 0, as no statement of read has if_empty"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].Count = -1 }, "protocol", "errors[1].count is -1"},
		{"mix", func(m *protocol.Sample) { m.Errors[1].WaitNS = -1 }, "protocol", "errors[1].wait_ns is -1"},
		{"mix", func(m *protocol.Sample) { m.Retries = 3 }, "protocol", "retries is 3: want at most 0"},
		{"mix", func(m *protocol.Sample) { m.Latency = m.Latency[:1] }, "protocol", "latency has 1 entries: want 2, of read, write"},
		{"mix", func(m *protocol.Sample) { m.Latency[0], m.Latency[1] = m.Latency[1], m.Latency[0] }, "protocol", `latency[0].operation is "write": want "read"`},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Count = -90 }, "protocol", "latency[0].count is -90"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Count, m.Latency[1].Count = 91, 9 }, "protocol", "latency[0].count is 91: want 90, as the seed chooses"},
		{"mix", func(m *protocol.Sample) { m.Latency[1].Failed = 11 }, "protocol", "latency[1].failed is 11: want at most 10"},
		{"mix", func(m *protocol.Sample) { m.Latency[1].EndedEarly = 8 }, "protocol", "latency[1].ended_early is 8: want at most 7"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = "" }, "protocol", "latency[0].histogram cannot be read: it is empty"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = "nonsense" }, "protocol", "latency[0].histogram cannot be read"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = m.Latency[0].Histogram[:40] }, "protocol", "latency[0].histogram cannot be read"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = histogram(89, time.Millisecond) }, "protocol", "latency[0].histogram holds 89 latencies: want 90"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = encoded(1, 1e9, 180) }, "protocol", "latency[0].histogram cannot be read: it has values from 1 to 1000000000"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = encoded(1, 120e9, -1) }, "protocol", "latency[0].histogram holds 0 latencies"},
		{"mix", func(m *protocol.Sample) { m.Latency[0].Histogram = histogram(90, 30*time.Millisecond) }, "protocol", "latency[0].histogram has a latency of 29."},
		{"mix", func(m *protocol.Sample) { m.WallNS = 20e6 }, "protocol", "wall_ns is 20000000: want at least 24."},
		{"insert", func(m *protocol.Sample) { m.Waits = []protocol.Wait{{For: "mutex"}} }, "protocol", "waits has 1 entries: want none, only the clients of a mix or a replay have them"},
		{"mix", func(m *protocol.Sample) { m.Waits = []protocol.Wait{{For: "luck"}} }, "protocol", `waits[0].for is "luck": want one of connection, mutex, retry`},
		{"mix", func(m *protocol.Sample) { m.Waits = []protocol.Wait{{For: "mutex"}, {For: "mutex"}} }, "protocol", `waits[1].for is "mutex", as in an earlier entry`},
		{"mix", func(m *protocol.Sample) { m.Waits = []protocol.Wait{{For: "mutex", Count: -1}} }, "protocol", "waits[0].count is -1"},
		{"mix", func(m *protocol.Sample) { m.Waits = []protocol.Wait{{For: "mutex", Count: 1, WaitNS: 1e9}} }, "protocol", "waits[0].wait_ns is 1000000000, 1s: want at most "},
		{"mix", func(m *protocol.Sample) { m.Waits = []protocol.Wait{{For: "mutex", WaitNS: 1}} }, "protocol", "waits[0].wait_ns is 1 of no wait: want 0"},
		{"lasts", func(m *protocol.Sample) { m.WallNS = 15e6 }, "protocol", "wall_ns is 15000000: want at least 20ms, the duration of the phase"},
		{"lasts", func(m *protocol.Sample) {
			m.Latency[0].Count, m.Latency[1].Count = 10, 90
			m.Latency[0].Histogram, m.Latency[1].Histogram = histogram(10, time.Millisecond), histogram(90, time.Millisecond)
		}, "protocol", "latency[0].count is 10 of 100 operations: want about 90, by its weight of 9 in 10"},
		{"rated", func(m *protocol.Sample) { m.WallNS = 15e6 }, "protocol", "wall_ns is 15000000: want at least 19.8ms, when the last of 100 operations fell due"},
		{"rated", func(m *protocol.Sample) {
			m.Operations = 200
			m.Latency[0] = protocol.Latency{Operation: "read", Count: 190, Histogram: histogram(190, time.Millisecond)}
		}, "protocol", "operations is 200: want at most 100, which is all that fall due in 20ms at 5000 per second"},
	} {
		k := samplesOfAll()[c.kind]
		c.lie(&k.said)
		_, _, faults := lab.CheckSample(&k.phase, k.want, lab.Seen{Possible: 30 * time.Millisecond}, &k.said)
		want := "phase " + c.kind + ": " + c.want
		if len(faults) == 0 {
			t.Errorf("no fault, want %q", want)
			continue
		}
		found := false
		for _, f := range faults {
			found = found || strings.HasPrefix(f.Message, want) && f.Code == c.code && strings.HasPrefix(c.want, f.Key)
		}
		if !found {
			t.Errorf("got %+v, want %q of code %s", faults, want, c.code)
		}
	}
}

// encoded returns an encoded histogram of values from low to high. It has only one entry, with the given
// count.
func encoded(low, high, count int64) string {
	var body, packed, out bytes.Buffer
	zigzag := uint64(count<<1 ^ count>>63)
	body.Write(binary.AppendUvarint(nil, zigzag))
	z := zlib.NewWriter(&packed)
	for _, v := range []any{int32(0x1c849313), int32(body.Len()), int32(0), int32(3), low, high, float64(1), body.Bytes()} {
		_ = binary.Write(z, binary.BigEndian, v)
	}
	z.Close()
	for _, v := range []any{int32(0x1c849314), int32(packed.Len()), packed.Bytes()} {
		_ = binary.Write(&out, binary.BigEndian, v)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// TestDoubts checks the warnings about figures that are doubtful but not proven wrong.
func TestDoubts(t *testing.T) {
	k := samplesOfAll()["insert"]
	k.said.WallNS, k.said.UserNS, k.said.SystemNS = 1e9, 3e9, 2e9
	k.said.Caches = &protocol.Caches{FileBytes: 1000, CachedBytes: 120}
	saw := lab.Seen{Possible: 10 * time.Second, Between: 700 * time.Millisecond, Cores: 4}
	_, doubts, faults := lab.CheckSample(&k.phase, k.want, saw, &k.said)
	if len(faults) > 0 || len(doubts) != 3 {
		t.Fatalf("%+v, %+v", doubts, faults)
	}
	for i, want := range []result.Warning{
		{Code: "cached", Phase: "insert", Share: 0.12, Message: "12% of the database stayed in the page cache, although it was dropped: another process may have mapped it"},
		{Code: "clock", Phase: "insert", Message: "the worker's clock ran for 1s, but the lab saw only 700ms between phase and sample: the lab was held up, or the time is wrong"},
		{Code: "cpu", Phase: "insert", Message: "user_ns and system_ns are 5s in all, but 4 cores have only 4s in the wall time of 1s"},
	} {
		if doubts[i] != want {
			t.Errorf("got %+v, want %+v", doubts[i], want)
		}
	}
}

func TestServedLies(t *testing.T) {
	p := &plan.Phase{Name: "requests", HTTP: &plan.HTTP{Call: plan.Call{SQL: "SELECT 1"}}}
	o := &load.Outcome{Wall: time.Second, Sent: 300, OK: 290, Statuses: map[int]int64{200: 290, 503: 10}}
	honest := protocol.Sample{Phase: "requests", WallNS: 1e9, UserNS: 1e8, Operations: 300, Failed: 10, Rows: 290, Errors: []protocol.ErrorCount{{Code: 5, Count: 10}}}
	if _, doubts, faults := lab.CheckServed(p, &honest, o, 1); len(doubts)+len(faults) > 0 {
		t.Errorf("%+v, %+v", doubts, faults)
	}
	for want, lie := range map[string]func(*protocol.Sample){
		"phase requests: operations is 9: want 300, the requests that were answered": func(m *protocol.Sample) { m.Operations = 9 },
		"phase requests: failed is 4: want 10, the answers with status 503":          func(m *protocol.Sample) { m.Failed = 4; m.Errors[0].Count = 4 },
		"phase requests: rows is 300: want 290, the answers with status 200":         func(m *protocol.Sample) { m.Rows = 300 },
		"phase requests: errors counts 4 in all: want 10, as failed says":            func(m *protocol.Sample) { m.Errors[0].Count = 4 },
		"phase requests: latency has 1 entries: want none":                           func(m *protocol.Sample) { m.Latency = []protocol.Latency{{}} },
		"phase requests: checksum is set":                                            func(m *protocol.Sample) { m.Checksum = someChecksum },
		"phase requests: peak_rss_bytes is -1":                                       func(m *protocol.Sample) { m.PeakRSSBytes = -1 },
	} {
		m := honest
		m.Errors = []protocol.ErrorCount{honest.Errors[0]}
		lie(&m)
		if _, _, faults := lab.CheckServed(p, &m, o, 1); len(faults) != 1 || !strings.HasPrefix(faults[0].Message, want) {
			t.Errorf("%+v, want %q", faults, want)
		}
	}
	hot := honest
	hot.UserNS = 5e9
	if _, doubts, _ := lab.CheckServed(p, &hot, o, 2); len(doubts) != 1 || doubts[0].Code != "cpu" {
		t.Errorf("%+v", doubts)
	}
}
