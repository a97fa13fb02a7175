package schema_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// narrowRecord is a record whose fields cannot hold every value that a request may send.
type narrowRecord struct {
	Number int64
	Kind   string
	Open   time.Duration
	Ends   ledger.Micros
	Max    int64
	Rules  []byte
	Note   string
}

var durations = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}

var stalls = schema.NewType[narrowRecord]("stall",
	schema.Field(schema.DerivedInteger(1, "number", schema.RequiredInStore, schema.Help("its number")), func(s *narrowRecord) *int64 { return &s.Number }),
	schema.Field(schema.Word(2, "kind", []string{"food", "books"}, schema.Required, schema.DefaultTo("food"),
		schema.Help("what it sells")), func(s *narrowRecord) *string { return &s.Kind }),
	schema.BoundField(schema.Word(3, "open", []string{"minute", "hour"}, schema.Settable, schema.Help("how long it is open")),
		func(s *narrowRecord) string {
			for name, length := range durations {
				if length == s.Open {
					return name
				}
			}
			return ""
		},
		func(s *narrowRecord, name string) { s.Open = durations[name] }),
	schema.Field(schema.Instant(4, "ends_at", schema.Settable, schema.Help("when it ends")), func(s *narrowRecord) *ledger.Micros { return &s.Ends }),
	schema.Field(schema.Integer(5, "most", 1, 9, schema.Settable, schema.Help("most visitors")), func(s *narrowRecord) *int64 { return &s.Max }),
	schema.Field(schema.Object(6, "rules", schema.Settable, schema.NotNull, schema.Help("rules")), func(s *narrowRecord) *[]byte { return &s.Rules }),
	schema.Field(schema.Text(7, "note", schema.Settable, schema.NotNull, schema.Help("a note")), func(s *narrowRecord) *string { return &s.Note }),
)

// sortedWords returns the words of a text in alphabetical order.
func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// A value that does not fit into its Go field must be refused when it is read. The later check would see only the field.
func TestValueThatDoesNotFitItsFieldIsRefused(t *testing.T) {
	for body, refusedFields := range map[string]string{
		`{}`:                                    "",
		`{"kind":""}`:                           "", // an empty text counts as absent
		`{"kind":"shoes"}`:                      "kind",
		`{"open":"hour"}`:                       "",
		`{"open":"day"}`:                        "open",
		`{"open":""}`:                           "",
		`{"open":null}`:                         "",
		`{"open":7}`:                            "open",
		`{"most":1}`:                            "",
		`{"most":0}`:                            "most",
		`{"most":10}`:                           "most",
		`{"most":1.0}`:                          "most",
		`{"ends_at":"1970-01-01T00:00:01.5Z"}`:  "",
		`{"ends_at":"1970-01-01"}`:              "ends_at",
		`{"ends_at":""}`:                        "ends_at",
		`{"ends_at":1}`:                         "ends_at",
		`{"rules":{}}`:                          "",
		`{"rules":[]}`:                          "rules",
		`{"note":""}`:                           "",
		`{"note":" "}`:                          "note",
		`{"number":-5}`:                         "", // no request sets this column
		`{"open":"day","most":0,"ends_at":"x"}`: "open most ends_at",
	} {
		var faults schema.Faults
		stalls.Check(nil, stalls.Create(input(t, body), &faults), &faults)
		if got := sortedWords(faultyFields(&faults)); got != sortedWords(refusedFields) {
			t.Errorf("%s: the refused fields are %q, want %q", body, got, refusedFields)
		}
	}
}

func TestInstantIsParsedFromText(t *testing.T) {
	for text, want := range map[string]ledger.Micros{
		"1970-01-01T00:00:01.5Z": 1_500_000, "1970-01-01T01:00:01+01:00": 1_000_000, "1970-01-01T00:00:00.000001+00:00": 1, "1969-12-31T23:59:59Z": -1_000_000,
	} {
		var faults schema.Faults
		if got := stalls.Create(input(t, `{"ends_at":"`+text+`"}`), &faults).Ends; got != want || !faults.IsEmpty() {
			t.Errorf("%s is %d, want %d (%v)", text, got, want, faults.List)
		}
	}
}

// In a patch, null removes the value of an optional column. A column that is required, or that no request sets, refuses
// null.
func TestNullRemovesTheValueOfAnOptionalColumn(t *testing.T) {
	old := narrowRecord{Number: 1, Kind: "books", Open: time.Hour, Ends: 5, Max: 3, Rules: []byte(`{"a":1}`), Note: "n"}
	for body, c := range map[string]struct {
		refusedFields string
		want          func(*narrowRecord)
	}{
		`{"open":null}`:    {"", func(s *narrowRecord) { s.Open = 0 }},
		`{"ends_at":null}`: {"", func(s *narrowRecord) { s.Ends = 0 }},
		`{"most":null}`:    {"", func(s *narrowRecord) { s.Max = 0 }},
		`{"rules":null}`:   {"", func(s *narrowRecord) { s.Rules = nil }},
		`{"note":null}`:    {"", func(s *narrowRecord) { s.Note = "" }},
		`{"kind":null}`:    {"kind", nil},
		`{"number":null}`:  {"number", nil},
	} {
		next := old
		var faults schema.Faults
		stalls.Patch(input(t, body), &next, &faults)
		stalls.Check(&old, &next, &faults)
		if got := faultyFields(&faults); got != c.refusedFields {
			t.Errorf("%s: the refused fields are %q, want %q", body, got, c.refusedFields)
		}
		if c.want == nil {
			continue
		}
		want := old
		c.want(&want)
		if !stalls.Equal(&next, &want) {
			t.Errorf("%s makes %+v, want %+v", body, next, want)
		}
	}
}

func TestStoredWordOutsideTheColumnsWordsIsRefused(t *testing.T) {
	stored, err := stalls.AppendStored(nil, &narrowRecord{Number: 1, Kind: "books"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for kind, isAccepted := range map[string]bool{"books": true, "food": true, "shoes": false, "": false} {
		altered := schema.AppendBytes(append(stored[:len(stored):len(stored)], 2), kind) // the stored form has two values of the column; the later one counts
		if err := stalls.ReadStored(altered, new(narrowRecord), nil); (err == nil) != isAccepted {
			t.Errorf("%q is read: %v", kind, err)
		}
	}
}
