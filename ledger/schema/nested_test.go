package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// basket is a record with an object inside it.
type basket struct {
	Owner string
	Limit limit
}

type limit struct {
	Least, Most money.Amount
	Unit        string
}

var (
	limits = schema.NewType[limit]("limit",
		schema.Field(schema.MinorUnits(1, "least", schema.Required, schema.Help("h")), func(l *limit) *money.Amount { return &l.Least }),
		schema.Field(schema.MinorUnits(2, "most", schema.Settable, schema.Help("h")), func(l *limit) *money.Amount { return &l.Most }),
		schema.Field(schema.Text(3, "unit", schema.DefaultTo("piece"), schema.AtMost(5), schema.Help("h")), func(l *limit) *string { return &l.Unit }),
	)
	baskets = schema.NewType[basket]("basket",
		schema.Field(schema.Text(1, "owner", schema.Settable, schema.Help("h")), func(b *basket) *string { return &b.Owner }),
		schema.Field(schema.Nested(2, "limit", limits, schema.Required, schema.NotNull, schema.Help("h")), func(b *basket) *limit { return &b.Limit }),
	)
)

func inputOf(t *testing.T, document string) (input schema.Input) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), &input); err != nil {
		t.Fatal(err)
	}
	return input
}

func faultsOf(f *schema.Faults) string {
	var texts []string
	for _, fault := range f.List {
		texts = append(texts, fault.Field+": "+fault.Message)
	}
	return strings.Join(texts, "|")
}

func TestNestedObjectIsCreated(t *testing.T) {
	for document, want := range map[string]string{
		`{"limit":{"least":5,"most":123456789012345678901234567890,"unit":"box"}}`: "",
		`{"limit":{"least":5}}`:            "",
		`{}`:                               "limit: limit is required",
		`{"limit":null}`:                   "limit: limit is required",
		`{"limit":[]}`:                     "limit: limit must be an object",
		`{"limit":{}}`:                     "limit.least: least is required",
		`{"limit":{"least":"5"}}`:          "limit.least: least must be an integer of minor units",
		`{"limit":{"least":5.0}}`:          "limit.least: least must be an integer of minor units",
		`{"limit":{"least":-5}}`:           "limit.least: least must be an integer of minor units",
		`{"limit":{"least":0}}`:            "limit.least: least must be above zero",
		`{"limit":{"least":5,"most":1e3}}`: "limit.most: most must be an integer of minor units",
		`{"limit":{"least":5,"unit":"boxes of ten"}}`: "limit.unit: unit must be at most 5 characters",
	} {
		var f schema.Faults
		b := baskets.Create(inputOf(t, document), &f)
		if f.IsEmpty() || want == "limit.least: least is required" {
			baskets.Check(nil, b, &f)
		}
		if got := faultsOf(&f); got != want {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
	b := baskets.Create(inputOf(t, `{"limit":{"least":5}}`), new(schema.Faults))
	if want := (limit{Least: money.FromUint64(5), Unit: "piece"}); b.Limit != want {
		t.Errorf("created with %+v", b.Limit)
	}
}

func TestPatchChangesOnlyTheMembersThatAreSent(t *testing.T) {
	old := basket{Owner: "o", Limit: limit{money.FromUint64(5), money.FromUint64(9), "box"}}
	for document, want := range map[string]limit{
		`{"limit":{"most":10}}`:                {money.FromUint64(5), money.FromUint64(10), "box"},
		`{"limit":{"most":null}}`:              {money.FromUint64(5), money.Amount{}, "box"},
		`{"limit":{}}`:                         old.Limit,
		`{"owner":"x"}`:                        old.Limit,
		`{"limit":{"least":1,"unit":"crate"}}`: {money.FromUint64(1), money.FromUint64(9), "crate"},
	} {
		b, f := old, new(schema.Faults)
		baskets.Patch(inputOf(t, document), &b, f)
		baskets.Check(&old, &b, f)
		if b.Limit != want || !f.IsEmpty() {
			t.Errorf("%s: %+v (%s), want %+v", document, b.Limit, faultsOf(f), want)
		}
	}
	for document, want := range map[string]string{
		`{"limit":null}`:           "limit: limit must not be null",
		`{"limit":7}`:              "limit: limit must be an object",
		`{"limit":{"least":null}}`: "limit.least: least is required",
		`{"limit":{"most":"10"}}`:  "limit.most: most must be an integer of minor units",
	} {
		b, f := old, new(schema.Faults)
		baskets.Patch(inputOf(t, document), &b, f)
		if f.IsEmpty() {
			baskets.Check(&old, &b, f)
		}
		if got := faultsOf(f); got != want {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

func TestNestedObjectIsStoredAndShown(t *testing.T) {
	b := basket{Owner: "o", Limit: limit{Least: money.FromUint64(300), Unit: "box"}}
	stored, err := baskets.AppendStored(nil, &b, nil)
	// The stored form has the record's version, the owner, and the limit. The limit has its own version, its amount of two
	// bytes, and its unit.
	want := "\x02" + "\x01\x01o" + "\x02\x0b" + "\x02" + "\x01\x03\x02\x01\x2c" + "\x03\x03box"
	if err != nil || string(stored) != want {
		t.Errorf("stored as %x (%v), want %x", stored, err, want)
	}
	read := new(basket)
	if err := baskets.ReadStored(stored, read, nil); err != nil || !reflect.DeepEqual(*read, b) {
		t.Errorf("read as %+v (%v)", read, err)
	}
	damaged := strings.Replace(want, "\x02\x0b\x02", "\x02\x0b\x07", 1)
	if err := baskets.ReadStored([]byte(damaged), new(basket), nil); err == nil {
		t.Error("an object of an unknown version is read")
	}
	for _, style := range []schema.Style{{}, {NumericAmounts: true}} {
		if got := string(baskets.AppendFields(nil, &b, style)); got != `"owner":"o","limit":{"least":300,"most":null,"unit":"box"}` {
			t.Errorf("shown as %s", got)
		}
	}
}
