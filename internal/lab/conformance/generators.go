package conformance

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
)

// generator is a column whose generated values must be the same in every worker.
type generator struct {
	name   string // kind of generator, and the variant to check
	column string // definition of the column in the workload language
	typ    string // type with which the column is read

	// same is the name of another column that must have the same values. If it is not "", the query's
	// results are compared with that other column instead of this one.
	same string
}

// returned returns the name of the column with which the query's values are compared.
func (g generator) returned() string { return cmp.Or(g.same, g.key()) }

// shownBy maps a generator's name to the limit (see [Check.Key]) that the generator's check confirms.
var shownBy = map[string]string{
	"int/all 64 bits": "int=large", "list/int": "int=large",
	"blob": "blob", "blob/from the arena": "blob", "blob/quantiles": "blob",
}

// generators contains every kind of generator, with all variants that a worker may handle differently.
var generators = []generator{
	{"serial", "{serial: 9, step: -3}", "int", ""},
	{"const/int", "7", "int", ""},
	{"const/real", "0.5", "real", ""},
	{"const/text", "{const: grün}", "text", ""},
	{"const/bool", "true", "bool", ""},
	{"const/time", "{time: 2023-10-01T10:00:00Z}", "time", ""},
	{"null", "null", "int or null", ""},
	{"int/all 64 bits", "{int: [-9223372036854775808, 9223372036854775807]}", "int", ""},
	{"int/few", "{int: [-5, 5]}", "int", ""},
	{"int/bool", "{int: [0, 1], type: bool}", "bool", ""},
	{"int/nulls", "{int: [0, 99], nulls: 10%}", "int or null", ""},
	{"zipf/skew 0.8", "{zipf: [10, 100_000], skew: 0.8}", "int", ""},
	{"zipf/skew 1", "{zipf: [1, 7], skew: 1.0}", "int", ""},
	{"zipf/skew 2.5", "{zipf: [1, 1_000_000], skew: 2.5}", "int", ""},
	{"real", "{real: [-1.5, 10000.25]}", "real", ""},
	{"real/nulls", "{real: [0, 1], nulls: 20%}", "real or null", ""},
	{"time/step", "{time: 2023-10-01T10:00:00Z, step: 1m}", "time", ""},
	{"time/random", "{time: [1969-10-01T10:00:00Z, 2023-10-02T10:00:00Z]}", "time", ""},
	{"choice", `{choice: [red, "grün", ""]}`, "text", ""},
	{"list/int", "{list: [3, null, -9223372036854775808]}", "int or null", ""},
	{"list/real", "{list: [0.5, 2, -1.25]}", "real", ""},
	{"list/text", `{list: ["", "grün", red, red]}`, "text", ""},
	{"repeat", `{repeat: "ab ", times: 3}`, "text", ""},
	{"text/one length", "{text: 20}", "text", ""},
	{"text/lengths and nulls", "{text: [0, 30], nulls: 5%}", "text or null", ""},
	{"text/from the arena", "{text: [200, 3_000]}", "text", ""},
	{"blob", "{blob: [0, 40]}", "blob", ""},
	{"blob/from the arena", "{blob: 5_000}", "blob", ""},
	{"hex", "{hex: 13}", "text", ""},
	{"hex/lengths", "{hex: [0, 9]}", "text", ""},
	{"sha256/text", "{sha256: word}", "text", ""},
	{"sha256/bytes", "{sha256: raw}", "text", ""},
	{"sha256/decoded", "{sha256: digits, decode: hex}", "text", ""},
	{"format", `{format: "%%%08d|%-6s|%5v|%x|%x", of: [number, word, word, number, word]}`, "text", ""},
	{"format/nulls", `{format: "%05d", of: maybe}`, "text or null", ""},
	{"format/times", `{format: "%FT%TZ|%F", of: [moment, moment, number]}`, "text", ""},
	{"format/json", `{format: "[%j,%j,%j,%j]", of: [maybe, quoted, yes, number]}`, "text", ""},
	{"ref", "parents.word", "text or null", ""},
	{"pick", "{pick: parents.id}", "int", ""},
	{"pick/skew", "{pick: parents.word, skew: 1.2}", "text or null", ""},
	{"pick/at", "{pick: parents.word, at: maybe}", "text or null", ""},
	{"serial/every", "{serial: -4, step: 7, every: 3}", "int", ""},
	{"int/quantiles", "{int: [-5, 0, 0, 9, 1_000_000]}", "int", ""},
	{"int/weights", "{int: {9: 1, -3: 4, 0: 2}}", "int", ""},
	{"shuffle", "{shuffle: [1, 213]}", "int", ""},
	{"shuffle/step", "{shuffle: [-30, 34], step: 7}", "int", ""},
	{"real/quantiles", "{real: [-1.5, 0, 0, 0.25, 1000]}", "real", ""},
	{"choice/weights", `{choice: {red: 5, "grün": 1, "": 2}}`, "text", ""},
	{"text/quantiles", "{text: [0, 3, 3, 20]}", "text", ""},
	{"text/quantiles from the arena", "{text: [0, 10, 2_000]}", "text", ""},
	{"blob/quantiles", "{blob: [1, 1, 40]}", "blob", ""},
	{"words", "{words: [0, 6], of: vocabulary.word}", "text", ""},
	{"words/skew and quantiles", "{words: [1, 2, 12], of: vocabulary.word, skew: 1.1}", "text", ""},
	{name: "coalesce", column: "{coalesce: [nothing, word]}", typ: "text", same: "word"},
}

// key returns the name of the generator's column.
func (g generator) key() string {
	return "v_" + noLetter.ReplaceAllString(g.name, "_")
}

var noLetter = regexp.MustCompile(`[^0-9A-Za-z]`)

// workloadOf returns a workload that inserts and reads a data set t. The data set has a column for each
// generator in the parameter "list", and the columns to which the generators refer.
func workloadOf(list ...generator) string {
	var names, types, returned []string
	var columns strings.Builder
	for _, g := range list {
		names = append(names, g.key())
		types = append(types, g.typ)
		returned = append(returned, g.returned())
		fmt.Fprintf(&columns, "      %s: %s\n", g.key(), g.column)
	}
	return strings.NewReplacer("NAMES", strings.Join(names, ", "), "TYPES", strings.Join(types, ", "), "RETURNED", strings.Join(returned, ", "), "COLUMNS\n", columns.String()).
		Replace(yaml("generator"))
}

func generatorChecks() []Check {
	var list []Check
	for _, g := range generators {
		list = append(list, Check{Name: "generators/" + g.name, Key: shownBy[g.name], test: func(ctx context.Context, s *Subject) error {
			if _, _, err := s.trial(ctx, workloadOf(g), nil); err != nil {
				return fmt.Errorf("%w: the right values are those of t.%s in docs/generated-values.json", err, g.key())
			}
			return nil
		}})
	}
	return list
}
