package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestChecksum checks that three ways to compute a checksum agree: from decoded rows, from
// generated values, and in the test itself, by the definition.
func TestChecksum(t *testing.T) {
	b := driver.Batch{Columns: []driver.Column{
		{Type: driver.Int, Ints: []int64{-1, 0}, Nulls: []bool{false, true}},
		{Type: driver.Real, Reals: []float64{1.5, 2}},
		{Type: driver.Text, Spans: []driver.Span{{Off: 0, Len: 2}, {Off: 2, Len: 0}}, Data: []byte("hi")},
		{Type: driver.Blob, Spans: []driver.Span{{Off: 1, Len: 1}, {Off: 0, Len: 1}}, Data: []byte{7, 8}},
		{Type: driver.Bool, Ints: []int64{1, 0}},
		{Type: driver.Time, Ints: []int64{1000, 256}},
	}}
	rows := []driver.Row{
		{{Int: -1}, {Real: 1.5}, {Text: "hi"}, {Blob: []byte{8}}, {Bool: true}, {Time: time.UnixMilli(1000)}},
		{{Null: true}, {Real: 2}, {}, {Blob: []byte{7}}, {}, {Time: time.UnixMilli(256)}},
	}
	var cols []driver.ColumnType
	for _, c := range b.Columns {
		cols = append(cols, driver.ColumnType{Type: c.Type, Nullable: true})
	}
	encoded, err := hex.DecodeString(strings.ReplaceAll(
		"49 ffffffffffffffff 52 000000000000f83f 54 0200000000000000 6869 42 0100000000000000 08 49 0100000000000000 49 e803000000000000"+
			"4e 52 0000000000000040 54 0000000000000000 42 0100000000000000 07 49 0000000000000000 49 0001000000000000", " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x", sha256.Sum256(encoded))
	var byRow, byBatch plan.Hash
	for range 2 {
		for _, r := range rows {
			byRow.Row(r, cols)
		}
		byBatch.Batch(&b, 2)
		if byRow.Sum() != want || byBatch.Sum() != want {
			t.Errorf("by row %s, by batch %s, want %s", byRow.Sum(), byBatch.Sum(), want)
		}
		byRow, byBatch = plan.Hash{}, plan.Hash{}
	}
	long := driver.Row{{Text: strings.Repeat("x", 100_000)}}
	for range 3 {
		byRow.Row(long, []driver.ColumnType{{Type: driver.Text}})
	}
	h := sha256.New()
	for range 3 {
		fmt.Fprintf(h, "T\xa0\x86\x01\x00\x00\x00\x00\x00%s", long[0].Text)
	}
	if got, want := byRow.Sum(), fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("long rows: %s, want %s", got, want)
	}
}

// TestRowSum checks that the checksum of rows is the sum of the rows' hashes, in any order. It also
// checks that adding rows and subtracting them again does not change the checksum.
func TestRowSum(t *testing.T) {
	types := []driver.ColumnType{{Type: driver.Int}}
	want := new(big.Int)
	var forth, back, half plan.RowSum
	for i := range int64(1000) {
		h := sha256.Sum256([]byte{'I', byte(i), byte(i >> 8), 0, 0, 0, 0, 0, 0})
		want.Add(want, new(big.Int).SetBytes(h[:]))
		forth.Row(driver.Row{{Int: i}}, types)
		back.Row(driver.Row{{Int: 999 - i}}, types)
		if i < 500 {
			half.Row(driver.Row{{Int: i}}, types)
		}
	}
	want.Mod(want, new(big.Int).Lsh(big.NewInt(1), 256))
	if got := fmt.Sprintf("%064x", want); forth.Sum() != got || back.Sum() != got || forth.Rows != 1000 {
		t.Errorf("%d rows have the sums %s and %s, want %s", forth.Rows, forth.Sum(), back.Sum(), got)
	}
	b := driver.Batch{Columns: []driver.Column{{Type: driver.Int}}}
	for i := range int64(500) {
		b.Columns[0].Ints = append(b.Columns[0].Ints, 500+i)
	}
	var rest plan.RowSum
	rest.Batch(&b, 500)
	forth.Subtract(&half)
	if forth.Sum() != rest.Sum() || forth.Rows != 500 {
		t.Errorf("without the first 500: %d rows, %s, want %s", forth.Rows, forth.Sum(), rest.Sum())
	}
	rest.Add(&half)
	if rest.Sum() != back.Sum() || rest.Rows != 1000 {
		t.Errorf("both halves: %d rows, %s, want %s", rest.Rows, rest.Sum(), back.Sum())
	}
	rest.Subtract(&back)
	if rest.Sum() != strings.Repeat("0", 64) {
		t.Errorf("after all rows were subtracted, the checksum is %s, want 0", rest.Sum())
	}
}
