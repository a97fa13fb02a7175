package schema_test

import (
	"errors"
	"testing"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// optionsRecord is a record whose columns have the options that boundRecord (type_test.go) does not test.
type optionsRecord struct {
	ID        ledger.ID
	CreatedAt ledger.Micros
	Ended     ledger.Micros
	Name      string
	Site      string
	Env       int // 0: none
	Offers    []offer
	Share     int64
}

// offer is an entry of a list.
type offer struct {
	Name string
	Size int64
}

var offers = schema.NewType[offer]("offer",
	schema.Field(schema.Text(1, "name", schema.Required, schema.OneLine, schema.Help("n")), func(s *offer) *string { return &s.Name }),
	schema.Field(schema.Integer(2, "size", 0, 9, schema.Required, schema.NotNull, schema.Help("s")), func(s *offer) *int64 { return &s.Size }),
)

var envs = []string{"prod", "test"}

var markets = schema.NewType[optionsRecord]("market",
	schema.Field(schema.ID(0, "id", schema.NotNull, schema.Transient, schema.ReadOnlyFixed, schema.Help("i")), func(s *optionsRecord) *ledger.ID { return &s.ID }),
	schema.Field(schema.Instant(0, "created_at", schema.NotNull, schema.Transient, schema.ReadOnlyFixed, schema.Help("c")), func(s *optionsRecord) *ledger.Micros { return &s.CreatedAt }),
	schema.Field(schema.Text(1, "name", schema.Required, schema.OneLine, schema.ShownAfter("id"), schema.Help("n")), func(s *optionsRecord) *string { return &s.Name }),
	schema.InputField(schema.Text(0, "pass", schema.Help("p"))),
	schema.Field(schema.Text(2, "site", schema.RefuseEmpty("must not be empty; null takes it away"), schema.Help("s")), func(s *optionsRecord) *string { return &s.Site }),
	schema.BoundField(schema.Word(3, "env", envs, schema.Required, schema.DefaultTo("prod"), schema.Help("e")),
		func(s *optionsRecord) string { return append([]string{""}, envs...)[s.Env] },
		func(s *optionsRecord, word string) { s.Env = map[string]int{"prod": 1, "test": 2}[word] }),
	schema.Field(schema.Entries(4, "offers", offers, schema.Settable, schema.NotNull, schema.AtMost(2), schema.Help("l")), func(s *optionsRecord) *[]offer { return &s.Offers }),
	schema.ComputedField(schema.Text(0, "label", schema.Sparse, schema.Help("l")), func(s *optionsRecord) (string, bool) { return s.Name + "!", s.Env == 2 }),
	schema.Field(schema.Instant(5, "ended_at", schema.AbsentWhenNew, schema.Help("e")), func(s *optionsRecord) *ledger.Micros { return &s.Ended }),
	schema.Field(schema.DerivedInteger(6, "share", schema.NotShown, schema.RequiredInStore), func(s *optionsRecord) *int64 { return &s.Share }),
).OnCreate(func(input schema.Input, s *optionsRecord, f *schema.Faults) {
	if _, isSent := input["site"]; !isSent && s.Env == 2 {
		f.Add("site", "is required in env test")
	}
}).CrossCheck(func(old, s *optionsRecord, f *schema.Faults) {
	if old != nil && len(s.Offers) < len(old.Offers) {
		f.Add("offers", "may only grow")
	}
}).Invariant(func(s *optionsRecord) string {
	if s.Share < 0 {
		return "has a share below zero"
	}
	return ""
}).WithRowMetadata(func(s *optionsRecord, metadata schema.RowMetadata) {
	s.ID, s.CreatedAt = metadata.ID, metadata.CreatedAt
})

func TestEachColumnOptionIsEnforced(t *testing.T) {
	for _, c := range []struct{ document, refusedFields, message string }{
		{`{"name":"a","pass":7}`, "", ""}, // the form of a password is checked elsewhere, by the code that reads it
		{`{"name":"a\tb"}`, "name", "name must not hold control characters"},
		{`{"name":"moc.\u202eelpmaxe"}`, "name", "name must not hold invisible characters that change how other text is shown"},
		{`{"name":"a\u2069b"}`, "name", "name must not hold invisible characters that change how other text is shown"},
		{`{"name":"a\u2028b"}`, "name", "name must not hold invisible characters that change how other text is shown"},
		{`{"name":"\ufeffa"}`, "name", "name must not hold invisible characters that change how other text is shown"},
		{`{"name":"a","site":""}`, "site", "must not be empty; null takes it away"},
		{`{"name":"a","site":null}`, "", ""},
		{`{"name":"a","env":""}`, "", ""},
		{`{"name":"a","env":"live"}`, "env", "must be prod or test"},
		{`{"name":"a","env":"test"}`, "site", "is required in env test"},
		{`{"name":"a","env":"test","site":"s"}`, "", ""},
		{`{"name":"a","offers":{}}`, "offers", "offers must be a list"},
		{`{"name":"a","offers":[7]}`, "offers", "offers must hold objects"},
		{`{"name":"a","offers":[{},{},{}]}`, "offers", "offers has more than 2 entries"},
		{`{"name":"a","offers":[{"name":"x","size":0},{"size":10}]}`, "offers.1.size offers.1.name", "size must be an integer from 0 to 9"},
		{`{"name":"a","offers":[{"name":"x"}]}`, "offers.0.size", "size is required"},
		{`{"name":"a","created_at":"x","ended_at":"x","label":"x"}`, "", ""}, // no request sets these columns
	} {
		faults := new(schema.Faults)
		created := markets.Create(input(t, c.document), faults)
		markets.Check(nil, created, faults)
		if fields := faultyFields(faults); fields != c.refusedFields || c.refusedFields != "" && faults.List[0].Message != c.message {
			t.Errorf("%s: the refused fields are %q (%v), want %q: %s", c.document, fields, faults.List, c.refusedFields, c.message)
		}
	}
}

func TestCrossCheckComparesWithTheOldRecord(t *testing.T) {
	old := optionsRecord{Name: "a", Env: 1, Offers: []offer{{"x", 1}}}
	for document, refusedFields := range map[string]string{
		`{"offers":[]}`:   "offers",
		`{"offers":null}`: "offers",
		`{"name":"b"}`:    "",
		`{"env":null}`:    "env",
		`{"id":"x"}`:      "id",
	} {
		next, faults := old, new(schema.Faults)
		markets.Patch(input(t, document), &next, faults)
		markets.Check(&old, &next, faults)
		if fields := faultyFields(faults); fields != refusedFields {
			t.Errorf("%s: the refused fields are %q, want %q", document, fields, refusedFields)
		}
	}
}

func TestColumnsAreShownInTheirPlaces(t *testing.T) {
	s := optionsRecord{Name: "a", Env: 2, Offers: []offer{{"x", 0}}}
	newRecordStyle := schema.Style{BookedPlaceholder: []byte("later"), JustCreated: true}
	for want, style := range map[string]schema.Style{
		`{"id":"00000000-0000-0000-0000-000000000000","name":"a","created_at":null,"site":null,"env":"test","offers":[{"name":"x","size":0}],"label":"a!","ended_at":null`: {},
		`{"id":"00000000-0000-0000-0000-000000000000","name":"a","created_at":"later","site":null,"env":"test","offers":[{"name":"x","size":0}],"label":"a!"`:              newRecordStyle,
	} {
		if got := string(markets.AppendFields([]byte("{"), &s, style)); got != want {
			t.Errorf("the response shows %s, want %s", got, want)
		}
	}
	var requested string
	for _, c := range markets.RequestColumns() {
		requested += c.Name + " "
	}
	if requested != "name pass site env offers " {
		t.Errorf("requests can have the columns %s", requested)
	}
}

func TestStoredRecordWithoutARequiredValueIsRefused(t *testing.T) {
	metadata := schema.RowMetadata{ID: ledger.ID{1}, CreatedAt: 5}
	complete := optionsRecord{ID: metadata.ID, CreatedAt: metadata.CreatedAt, Name: "a", Env: 2, Offers: []offer{{"x", 0}}, Share: 3}
	for name, c := range map[string]struct {
		change     func(*optionsRecord)
		isAccepted bool
	}{
		"complete":                {func(*optionsRecord) {}, true},
		"no name":                 {func(s *optionsRecord) { s.Name = "" }, false},
		"no share":                {func(s *optionsRecord) { s.Share = 0 }, false},
		"violates the invariant":  {func(s *optionsRecord) { s.Share = -1 }, false},
		"an offer without a name": {func(s *optionsRecord) { s.Offers = []offer{{"", 1}} }, false},
	} {
		s := complete
		c.change(&s)
		stored, err := markets.AppendStored(nil, &s, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := markets.Read(metadata, stored, nil)
		if c.isAccepted != (err == nil) || err != nil && !errors.Is(err, schema.ErrStored) {
			t.Errorf("%s: %v", name, err)
		}
		if c.isAccepted && !markets.Equal(got, &complete) {
			t.Errorf("%s: the record is %+v", name, got)
		}
	}
}
