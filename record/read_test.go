package record_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/record"
)

func TestReadRefuses(t *testing.T) {
	const header = `{"format":"sqlite3perf-recording","version":1,"began":"2026-01-02T03:04:05Z","args":"values"}` + "\n"
	for text, want := range map[string]string{
		"":          "no whole line",
		header[:20]: "no whole line",
		"{}\n":      "not the header",
		`{"format":"sqlite3perf-recording","version":2}` + "\n": "version 2",
		header + "nonsense\n":                      "line 2",
		header + `{"at":1,"conn":2,"id":7}` + "\n": "inserted at 1 on connection 2",
		header + `{"at":1,"sql":7}` + "\n":         "text of statement 7",
		header + `{"at":1,"do":"dance"}` + "\n":    "dance",
		header + `{"took":1}` + "\n":               "neither",
		header + `{"sql":1,"text":"a"}` + "\n" + `{"at":1,"sql":1,"args":[{"color":1}]}` + "\n":          "color",
		header + `{"sql":1,"text":"a"}` + "\n" + `{"at":1,"sql":1,"args":[99999999999999999999]}` + "\n": "64 bits",
	} {
		if _, err := record.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestReadCutOff(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{}, library{})
	run(t, db)
	all := finish(t, rec, &b)
	text := b.String()
	header := strings.IndexByte(text, '\n') + 1
	for n := header; n < len(text); n += 7 {
		r, err := record.Read(strings.NewReader(text[:n]))
		if err != nil {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
		if whole := text[n-1] == '\n'; whole != (r.Rest == "") || len(r.Events) > len(all.Events) {
			t.Errorf("cut off after %d bytes: rest %q", n, r.Rest)
		}
	}
}

// TestReadHostile reads recordings that no application would write. Each must be read, or refused with a
// short error that says what is wrong.
func TestReadHostile(t *testing.T) {
	const header = `{"format":"sqlite3perf-recording","version":1,"began":"2026-01-01T00:00:00Z","args":"values"}` + "\n"
	const text = `{"sql":1,"text":"SELECT 1"}` + "\n"
	event := func(args string) string {
		return header + text + `{"at":1,"took":1,"conn":1,"sql":1,"args":[` + args + `]}` + "\n"
	}
	deep := func(n int, before, after string) string {
		return strings.Repeat(before, n) + "1" + strings.Repeat(after, n)
	}
	for name, c := range map[string]struct{ recording, want string }{
		"nothing":                {"", "no whole line"},
		"one long line":          {strings.Repeat("x", 10<<20), "no whole line"},
		"long lines":             {header + strings.Repeat("[", 10<<20) + "\n", "line 2"},
		"names of names":         {event(deep(9000, `{"name":"a","value":`, "}")), "parameter 1"},
		"deep parameters":        {event(deep(9000, "[", "]")), "parameter 1"},
		"too deep":               {event(deep(20_000, "[", "]")), "line 3"},
		"not a number":           {event("NaN"), "line 3"},
		"beyond 64 bits":         {event("99999999999999999999"), "64 bits"},
		"beyond a real":          {event("1e999"), "parameter 1"},
		"a length below 0":       {event(`{"blob":-1}`), "parameter 1"},
		"empty object":           {event(`{}`), "parameter 1"},
		"bad base64":             {event(`{"blob":"!"}`), "parameter 1"},
		"a zone as long":         {event(`{"time":"2026-01-01T00:00:00Z","zone":"` + strings.Repeat("x", 1<<20) + `"}`), "zone"},
		"a text that is missing": {header + `{"at":1,"sql":7}` + "\n", "no line before it"},
		"a time beyond range":    {header + text + `{"at":1e30,"sql":1}` + "\n", "line 3"},
		"a wrong type":           {header + text + `{"at":"1","sql":1}` + "\n", "line 3"},
		"an unknown action":      {header + text + `{"at":1,"do":"rm"}` + "\n", "want begin"},
		"an ID of nothing":       {header + text + `{"at":1,"conn":1,"id":1}` + "\n", "no line before it"},
		"no header":              {text + header, "header"},
		"two headers":            {header + header, "line 2"},
		"the greatest numbers":   {header + text + `{"at":9223372036854775807,"took":9223372036854775807,"conn":-9223372036854775808,"tx":-1,"sql":1,"rows":9223372036854775807,"affected":-5}` + "\n" + `{"at":-9223372036854775808,"do":"commit"}` + "\n", ""},
	} {
		r, err := record.Read(strings.NewReader(c.recording))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && len(r.Events) != 2:
			t.Errorf("%s: %+v", name, r)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500):
			t.Errorf("%s: %.600v, want %q", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	db, rec := open(f, &b, record.Options{Values: true}, library{})
	run(f, db)
	if err := rec.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range r.Events {
			_ = told(&r.Events[i])
		}
	})
}
