package workload_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// generate returns a generator for data sets written in YAML, and their plan.
func generate(t testing.TB, seed uint64, rows string) (*plan.Gen, *plan.Plan) {
	t.Helper()
	source := "name: t\nphases: [{name: s, script: VACUUM}]\nrows:\n" + rows
	w, err := workload.Parse("t.yaml", []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Plan("full", nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := plan.NewGenerator(seed, p)
	if err != nil {
		t.Fatal(err)
	}
	return g, p
}

// show formats a value for comparison. For a long text, it returns the length and a hash of the text.
func show(c *driver.Column, r int) string {
	switch v := c.Any(r).(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf("%x", v)
	case string:
		if len(v) > 100 {
			return fmt.Sprintf("%d bytes %.16x", len(v), sha256.Sum256([]byte(v)))
		}
		return v
	default:
		return fmt.Sprint(v)
	}
}

const everyKind = `
  users:
    count: 1000
    columns:
      serial: serial
      step: {serial: -5, step: 3}
      const: {const: hello}
      int: {int: [-10, 10]}
      wide: {int: [-9223372036854775808, 9223372036854775807]}
      zipf: {zipf: [1, 1_000_000], skew: 1.1}
      zipf1: {zipf: [0, 99], skew: 1}
      flat: {zipf: [0, 99], skew: 0.5}
      real: {real: [-1, 2.5]}
      time: {time: 2023-10-01T10:00:00Z, step: 1m}
      random: {time: [2023-10-01, 2024-10-01]}
      text: {text: [3, 12]}
      long: {text: [1000, 2000]}
      huge: {text: 3_000_000}
      repeat: {repeat: "ab ", times: 3}
      blob: {blob: [0, 9]}
      choice: {choice: [red, green, blue]}
      hex: {hex: 8}
      sha256: {sha256: hex, decode: hex}
      plain: {sha256: text}
      format: {format: "%s-%08d|%-4v|%4x|%x%%", of: [text, step, serial, step, text]}
      text time: {format: "%F %T%%", of: [random, random]}
      nulls: {int: [1, 9], nulls: 50%}
      null: null
      wrap: {format: "<%s%-6s%6s>", of: [long, choice, const]}
  articles:
    per: users
    count: 3
    columns:
      id: serial
      user: users.serial
      name: users.text
      pick: {pick: users.format}
      skew: {pick: users.serial, skew: 1.5}
      maybe: {format: "%d", of: nulls}
      nulls: users.nulls
      real: users.real
      long: users.long
`

// TestStream pins the values of every generator, which docs/generated-values.md defines. If they
// changed, new runs could not be compared with stored ones.
func TestStream(t *testing.T) {
	want := map[string][3]string{}
	got := map[string][3]string{}
	g, p := generate(t, 42, everyKind)
	for _, d := range p.DataSets {
		var b driver.Batch
		if err := g.Fill(&b, d.Name, 0, 501); err != nil {
			t.Fatal(err)
		}
		for j, c := range d.Columns {
			col := &b.Columns[j]
			got[d.Name+"."+c.Name] = [3]string{show(col, 0), show(col, 1), show(col, 500)}
		}
	}
	for line := range strings.Lines(streamValues) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		want[f[0]] = [3]string{f[1], f[2], f[3]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

const streamValues = `users.serial	1	2	501
users.step	-5	-2	1495
users.const	hello	hello	hello
users.int	10	-8	-5
users.wide	6582003902128380528	4134050998353389758	3907204027239082557
users.zipf	9	654	3020
users.zipf1	20	79	1
users.flat	9	8	59
users.real	1.930675012725077	0.28540644105127067	2.4887111733340626
users.time	1696154400000	1696154460000	1696184400000
users.random	1707509272988	1701952764736	1704424495529
users.text	qllhonvntuy	rceez	bpfyusul
users.long	1757 bytes f4693fe048d4cdb59ab6653d7df5d7b9	1935 bytes 6c19d054464164ede0cbc357be4e37fe	1237 bytes 41c70bdb15bc7fd5fe2679c3ec4996e1
users.huge	3000000 bytes eb0361e957252c00b6a96cb8fce99979	3000000 bytes cbd20b0ccb282786bd842cb12cb84790	3000000 bytes bce0b5e8953ab0e5eeab7d7cd3e926db
users.repeat	ab ab ab 	ab ab ab 	ab ab ab 
users.blob		ec28826e70d1	cae4
users.choice	green	blue	blue
users.hex	89ae5c7725085e0b	62b9ff7994792db5	8768881dfc140b76
users.sha256	9a5c9159f6fdc921c10ee1c696504afe81778d75e2744b31f35d5563ae591f93	e7f0058eac97dcb43163ead4ef0c33530cc2c7674278daeea1ba21074427f6da	19e2b413f2a8cb32e1d6933571b71f2e60117f66c2b719174e2560afcd3142bf
users.plain	35bd7f08a64cd906d93886f912d8f96f309b46361bee94bc97be1d6537f3879e	8642a6af5bfd8b164dcbfd84f258630d01436e7765f4b2a297d2e4b257fd6fab	2da6fd46e88fede5221e118a623318f106af56e47749ce8e2e9e267557f21432
users.format	qllhonvntuy--0000005|1   |  -5|716c6c686f6e766e747579%	rceez--0000002|2   |  -2|726365657a%	bpfyusul-00001495|501 | 5d7|627066797573756c%
users.text time	2024-02-09 20:07:52%	2023-12-07 12:39:24%	2024-01-05 03:14:55%
users.nulls	8	NULL	6
users.null	NULL	NULL	NULL
articles.id	1	2	501
articles.user	1	1	167
articles.name	qllhonvntuy	qllhonvntuy	uiuyxmkurhs
articles.pick	iqyr-00002536|848 | 9e8|69717972%	eqp-00001468|492 | 5bc|657170%	dvxnbrg-00000169|59  |  a9|6476786e627267%
articles.skew	1	1	1
articles.maybe	8	8	8
articles.nulls	8	8	8
users.wrap	1771 bytes 902df899b72670c3451246f86ee34fac	1949 bytes 552641bee03ea8b13380d637358a44be	1251 bytes 3ab062f02805d165a03e7f51a4b16b16
articles.real	1.930675012725077	1.930675012725077	1.3013981423676215
articles.long	1757 bytes f4693fe048d4cdb59ab6653d7df5d7b9	1757 bytes f4693fe048d4cdb59ab6653d7df5d7b9	1162 bytes 411c2b355603cbf3266abae44c20dcae
`

// TestFirstRows pins checksums over all rows of many columns.
func TestFirstRows(t *testing.T) {
	g, _ := generate(t, 42, everyKind)
	for _, tt := range []struct {
		set, want string
		columns   []string
	}{
		{"articles", "177e7159268ab60835c033d7e7c6cc4aa45df1f6acb7e6a10d755fd395271699", []string{"articles.id", "articles.user", "articles.name", "articles.pick", "articles.skew", "articles.maybe", "articles.nulls"}},
		{"users", "5ac7d327daeb6a70e07be2fa041eefe7086229b7c3ea80934516fab39702605b", []string{"users.zipf", "users.zipf1", "users.flat", "users.real", "users.long", "users.blob", "users.hex"}},
	} {
		got, rows, err := g.Expected(&plan.Returns{Set: tt.set, Columns: tt.columns}, func(int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{"users": 1000, "articles": 3000}[tt.set]; rows != want || got != tt.want {
			t.Errorf("%s: %d rows, checksum %s, want %d, %s", tt.set, rows, got, want, tt.want)
		}
	}
}

// TestAnyOrder generates rows all at once, one by one starting from the last, and as parameters of every
// seventh row. The values of a row must be the same each time.
func TestAnyOrder(t *testing.T) {
	g, p := generate(t, 42, everyKind)
	h, _ := generate(t, 42, everyKind)
	for _, d := range p.DataSets {
		var all, one, strided driver.Batch
		const n = 60
		if err := g.Fill(&all, d.Name, 0, n); err != nil {
			t.Fatal(err)
		}
		var params []plan.Parameter
		for _, c := range d.Columns {
			params = append(params, plan.Parameter{Name: c.Name, Type: c.Type, Column: d.Name + "." + c.Name})
		}
		for i := int64(n - 1); i >= 0; i-- {
			if err := h.Fill(&one, d.Name, i, i+1); err != nil {
				t.Fatal(err)
			}
			for j := range all.Columns {
				if got, want := show(&one.Columns[j], 0), show(&all.Columns[j], int(i)); got != want {
					t.Fatalf("%s.%s of row %d alone is %s, want %s", d.Name, d.Columns[j].Name, i, got, want)
				}
			}
		}
		if err := g.FillParameters(&strided, "x", params, d.Name, 3, 7, 8); err != nil {
			t.Fatal(err)
		}
		for k := range 8 {
			for j := range all.Columns {
				if got, want := show(&strided.Columns[j], k), show(&all.Columns[j], 3+7*k); got != want {
					t.Fatalf("%s.%s of row %d in strides is %s, want %s", d.Name, d.Columns[j].Name, 3+7*k, got, want)
				}
			}
		}
	}
}

// TestSeeds checks that a different seed, column or data set gives different values.
func TestSeeds(t *testing.T) {
	const rows = "  a: {count: 1000, columns: {x: {int: [0, 1000000]}, y: {int: [0, 1000000]}}}\n" +
		"  b: {count: 1000, columns: {x: {int: [0, 1000000]}}}\n"
	g, _ := generate(t, 1, rows)
	h, _ := generate(t, 2, rows)
	var ga, gb, ha driver.Batch
	for _, err := range []error{g.Fill(&ga, "a", 0, 1000), g.Fill(&gb, "b", 0, 1000), h.Fill(&ha, "a", 0, 1000)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range [][]int64{ga.Columns[1].Ints, gb.Columns[0].Ints, ha.Columns[0].Ints} {
		equal := 0
		for i, x := range ga.Columns[0].Ints {
			if x == other[i] {
				equal++
			}
		}
		if equal > 5 {
			t.Errorf("%d of 1000 values are the same", equal)
		}
	}
}

// TestNesting checks that a column with the generator ref takes its value from the row in which its
// own row is nested.
func TestNesting(t *testing.T) {
	g, p := generate(t, 7, `
  c: {per: b, count: 3, columns: {id: serial, b: b.id, a: a.id, mail: a.mail}}
  b: {per: a, count: 2, columns: {id: serial, a: a.id}}
  a: {count: 5, columns: {id: {int: [1, 1000]}, mail: {format: "m%d", of: id}}}
`)
	if p.DataSets[0].Name != "a" || p.DataSets[2].Name != "c" || p.DataSets[2].Total != 30 {
		t.Fatalf("data sets %+v", p.DataSets)
	}
	var a, c, cols driver.Batch
	if err := g.Fill(&a, "a", 0, 5); err != nil {
		t.Fatal(err)
	}
	if err := g.Fill(&c, "c", 0, 30); err != nil {
		t.Fatal(err)
	}
	if err := g.FillColumns(&cols, []string{"a.mail", "b.id", "c.id"}, "c", 0, 30); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		id := a.Columns[0].Ints[i/6]
		if c.Columns[1].Ints[i] != int64(i/3+1) || c.Columns[2].Ints[i] != id || c.Columns[3].Text(i) != fmt.Sprintf("m%d", id) {
			t.Errorf("row %d: %s %s %s, a.id is %d", i, show(&c.Columns[1], i), show(&c.Columns[2], i), show(&c.Columns[3], i), id)
		}
		if cols.Columns[0].Text(i) != fmt.Sprintf("m%d", id) || cols.Columns[1].Ints[i] != int64(i/3+1) || cols.Columns[2].Ints[i] != int64(i+1) {
			t.Errorf("columns of row %d: %s %s %s", i, show(&cols.Columns[0], i), show(&cols.Columns[1], i), show(&cols.Columns[2], i))
		}
	}
}

// TestParameters checks the parameters of a mix: one parameter is made from another, and no two
// clients get the same value of the generator serial.
func TestParameters(t *testing.T) {
	g, _ := generate(t, 7, "  users: {count: 10, columns: {id: serial}}\n")
	params := []plan.Parameter{
		{Name: "mail", Type: driver.Text, Generator: &plan.Generator{Kind: plan.GenFormat, Format: "new%d", Of: []string{"id"}}},
		{Name: "id", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenSerial, Low: 11, Step: 1}},
		{Name: "old", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenPick, Of: []string{"users.id"}}},
	}
	seen := map[int64]bool{}
	for c := range int64(4) {
		var b driver.Batch
		for range 2 { // the second call reuses the memory that the first call filled
			if err := g.FillParameters(&b, "mix.write", params, "", c, 4, 25); err != nil {
				t.Fatal(err)
			}
		}
		for k := range 25 {
			id := b.Columns[1].Ints[k]
			if seen[id] || id < 11 || id > 110 {
				t.Errorf("client %d draws %d", c, id)
			}
			seen[id] = true
			if got, want := b.Columns[0].Text(k), fmt.Sprintf("new%d", id); got != want {
				t.Errorf("mail %s, want %s", got, want)
			}
			if old := b.Columns[2].Ints[k]; old < 1 || old > 10 {
				t.Errorf("old is %d", old)
			}
		}
	}
}

// TestRefill fills one batch with rows of several data sets in turn. Although each call of Fill
// reuses the memory of the batch, the values must be right. A repeated call must allocate no
// memory.
func TestRefill(t *testing.T) {
	const rows = `
  long: {count: 10, columns: {a: {text: 1000}, b: {blob: 2000}}}
  short: {count: 1000, columns: {a: {text: 100}, b: {blob: 20}}}
  same: {count: 10, columns: {a: {repeat: x, times: 10}, b: {choice: [a, b]}}}
`
	g, _ := generate(t, 1, rows)
	want := map[string]string{}
	for _, set := range []string{"long", "short", "same"} {
		sum, _, err := g.Expected(&plan.Returns{Set: set, Columns: []string{set + ".a", set + ".b"}}, func(int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		want[set] = sum
	}
	var b driver.Batch
	n := map[string]int64{"long": 10, "short": 1000, "same": 10}
	for _, set := range []string{"long", "short", "long", "same", "short", "same", "long", "short"} {
		if err := g.Fill(&b, set, 0, n[set]); err != nil {
			t.Fatal(err)
		}
		var h plan.Hash
		h.Batch(&b, int(n[set]))
		if h.Sum() != want[set] {
			t.Errorf("set %s differs when it is filled again", set)
		}
	}
	for set := range n {
		if err := g.Fill(&b, set, 0, n[set]); err != nil {
			t.Fatal(err)
		}
		if allocs := testing.AllocsPerRun(10, func() { _ = g.Fill(&b, set, 0, n[set]) }); allocs > 0 {
			t.Errorf("set %s: %v allocations when it is filled again", set, allocs)
		}
	}
}

func TestRowsFitting(t *testing.T) {
	g, _ := generate(t, 1, `
  small: {count: 10, columns: {id: serial}}
  texts: {count: 10, columns: {a: {hex: 100_000}, b: {text: 100_000}}}
  huge: {count: 10, columns: {a: {format: "%s%s", of: [b, b]}, b: {text: 30_000_000, hidden: true}}}
`)
	if got := g.RowsFitting("small"); got < 1_000_000 || got > 8_000_000 {
		t.Errorf("%d rows of one integer", got)
	}
	if got := g.RowsFitting("texts"); got < 100 || got > 170 {
		t.Errorf("%d rows of 200,000 bytes", got)
	}
	if got := g.RowsFitting("texts", "texts.b"); got < 1_000_000 {
		t.Errorf("%d rows of a text that takes no memory", got)
	}
	if got := g.RowsFitting("huge"); got != 1 {
		t.Errorf("%d rows of 60 MB", got)
	}
}

// TestBadPlans checks plans that the loader never makes, but that another program might send to a
// worker.
func TestBadPlans(t *testing.T) {
	pl := func(typ driver.Type, g plan.Generator) *plan.Plan {
		return &plan.Plan{DataSets: []plan.DataSet{{Name: "t", Count: 1, Total: 1, Columns: []plan.Column{{Name: "c", Type: typ, Generator: g}}}}}
	}
	nested := pl(driver.Int, plan.Generator{Kind: "serial"})
	nested.DataSets[0].Parent = "u"
	for _, tt := range []struct {
		pl   *plan.Plan
		want string
	}{
		{pl(driver.Int, plan.Generator{Kind: "cereal"}), "column t.c: cereal: no such generator"},
		{pl(driver.Text, plan.Generator{Kind: "int"}), "column t.c: int: it cannot make text"},
		{pl(driver.Int, plan.Generator{Kind: "int", Low: 1}), "column t.c: int: from 1 to 0"},
		{pl(driver.Int, plan.Generator{Kind: "zipf", High: 9}), "column t.c: zipf: from 0 to 9 with skew 0"},
		{pl(driver.Int, plan.Generator{Kind: "serial", NullPermille: 1001}), "column t.c: serial: 1001 of 1000 values NULL"},
		{pl(driver.Text, plan.Generator{Kind: "text", Low: -1}), "column t.c: text: -1 to 0 bytes"},
		{pl(driver.Text, plan.Generator{Kind: "repeat", Text: "x", Times: 1 << 40}), "column t.c: repeat: 1099511627776 times"},
		{pl(driver.Text, plan.Generator{Kind: "choice"}), "column t.c: choice: from an empty list"},
		{pl(driver.Text, plan.Generator{Kind: "format", Format: "%d", Of: []string{"d"}}), `column t.c: format: no column "d" in the same row`},
		{pl(driver.Text, plan.Generator{Kind: "format", Format: "%s", Of: []string{"c"}}), "column t.c is made from itself"},
		{pl(driver.Int, plan.Generator{Kind: "pick", Of: []string{"u.id"}}), `column t.c: pick: no data set "u", wanted for "u.id"`},
		{pl(driver.Int, plan.Generator{Kind: "ref", Of: []string{"t.c"}}), "column t.c is made from itself"},
		{nested, `data set "t": its parent "u" does not come before it`},
	} {
		if _, err := plan.NewGenerator(1, tt.pl); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	for name, columns := range map[string]string{
		"simple": `id: serial, created: {time: 2023-10-01, step: 1m}, email: {format: "user%08d@example.com", of: id}, active: true`,
		"random": `id: {int: [1, 1000]}, real: {real: [0, 1]}, text: {text: [10, 20]}`,
		"zipf":   `id: {zipf: [1, 1000000], skew: 1.1}`,
		"hash":   `rand: {hex: 8}, hash: {sha256: rand, decode: hex}`,
		"long":   `text: {text: 100_000}`,
	} {
		b.Run(name, func(b *testing.B) {
			g, _ := generate(b, 1, "  t: {count: 100000, columns: {"+columns+"}}\n")
			var batch driver.Batch
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Fill(&batch, "t", 0, 100_000); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/row")
		})
	}
}
