package schema_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// size is a named string type, and level a named integer type.
type (
	size  string
	level uint32
)

// boundRecord is a record with a field for each way of binding a column.
type boundRecord struct {
	Number    int64
	Name      string
	Size      size
	Open      bool
	Level     level
	Secret    string
	Tags      []string
	Gates     []int64
	CreatedAt ledger.Micros
}

// gatesKind is a kind whose values have several parts, each with its own faults.
type gatesKind struct{ schema.NeverEmpty }

func (gatesKind) String() string { return "gates" }

func (gatesKind) Parse(*schema.Column, []byte, schema.ParseOptions) (any, string) {
	panic("it has parts")
}

func (gatesKind) Check(*schema.Column, any) string { panic("it has parts") }

func (gatesKind) ParseParts(c *schema.Column, raw []byte, f *schema.Faults) any {
	var gates []int64
	if json.Unmarshal(raw, &gates) != nil {
		f.Add(c.Name, "must be a list of integers")
		return []int64(nil)
	}
	return gates
}

func (gatesKind) CheckParts(c *schema.Column, value any, f *schema.Faults) {
	for i, gate := range value.([]int64) {
		if gate < 1 {
			f.Add(c.Name+"."+strconv.Itoa(i), "must be above zero")
		}
	}
}

func (gatesKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	for _, gate := range value.([]int64) {
		dst = append(dst, byte(gate))
	}
	return dst
}

func (gatesKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	var gates []int64
	for _, b := range stored {
		gates = append(gates, int64(b))
	}
	return gates, true
}

func (gatesKind) AppendJSON(_ *schema.Column, dst []byte, value any, _ schema.Style) []byte {
	written, _ := json.Marshal(value)
	return append(dst, written...)
}

func (gatesKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{Type: "array", Entry: &schema.Form{Type: "integer"}}
}

func noSpaces(value any) string {
	if strings.Contains(value.(string), " ") {
		return "must not hold spaces"
	}
	return ""
}

var shops = schema.NewType[boundRecord]("shop",
	schema.Field(schema.DerivedInteger(1, "id", schema.NotNull, schema.Help("its number")), func(s *boundRecord) *int64 { return &s.Number }),
	schema.Field(schema.Text(2, "name", schema.Required, schema.Rule(noSpaces), schema.Help("what people call it")), func(s *boundRecord) *string { return &s.Name }),
	schema.TextField(schema.Enum(3, "size", words, schema.Fixed, schema.Help("how large it is")), func(s *boundRecord) *size { return &s.Size }),
	schema.Field(schema.Bool(4, "open", schema.NotNull, schema.DefaultTo(true), schema.Help("whether it sells")), func(s *boundRecord) *bool { return &s.Open }),
	schema.NumberField(schema.DerivedInteger(5, "level", schema.NotShown), func(s *boundRecord) *level { return &s.Level }),
	schema.Field(schema.Text(6, "secret", schema.Secret, schema.Help("signs")), func(s *boundRecord) *string { return &s.Secret }),
	schema.Field(schema.Texts(7, "tags", schema.Settable, schema.AtMost(2), schema.Help("words")), func(s *boundRecord) *[]string { return &s.Tags }),
	schema.Field(schema.NewTypedColumn[[]int64](8, "gates", gatesKind{}, []schema.Option{schema.Settable, schema.Help("doors")}), func(s *boundRecord) *[]int64 { return &s.Gates }),
	schema.Field(schema.Instant(9, "created_at", schema.NotNull, schema.Transient, schema.Help("when it was made")), func(s *boundRecord) *ledger.Micros { return &s.CreatedAt }),
)

func input(t *testing.T, document string) (in schema.Input) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// faultyFields returns the names of the fields with faults, in the order of the faults.
func faultyFields(f *schema.Faults) string {
	var fields []string
	for _, fault := range f.List {
		fields = append(fields, fault.Field)
	}
	return strings.Join(fields, " ")
}

func TestARecordIsCreatedByItsColumns(t *testing.T) {
	for _, c := range []struct {
		document      string
		want          boundRecord
		refusedFields string
	}{
		{`{"name":"a"}`, boundRecord{Name: "a", Open: true}, ""},
		{`{"id":7,"name":"a","size":"large","open":false,"secret":"s","tags":["x"],"gates":[1,2],"level":9,"created_at":"x"}`,
			boundRecord{Name: "a", Size: "large", Secret: "s", Tags: []string{"x"}, Gates: []int64{1, 2}}, ""},
		{`{"name":"a","open":null,"size":null,"gates":null}`, boundRecord{Name: "a", Open: true}, ""},
		{`{}`, boundRecord{Open: true}, "name"},
		{`{"name":""}`, boundRecord{Open: true}, "name"},
		{`{"name":7}`, boundRecord{Open: true}, "name"}, // the name has only this fault, and is not reported as missing too
		{`{"name":"a b","size":"huge","open":1,"secret":2,"tags":["x","y","z"],"gates":[0,1,-1]}`, boundRecord{}, "size open secret tags name gates.0 gates.2"},
	} {
		var faults schema.Faults
		got := *shops.Create(input(t, c.document), &faults)
		shops.Check(nil, &got, &faults)
		if fields := faultyFields(&faults); fields != c.refusedFields {
			t.Errorf("%s: the refused fields are %q, want %q", c.document, fields, c.refusedFields)
		}
		if c.refusedFields == "" && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s makes %+v, want %+v", c.document, got, c.want)
		}
	}
}

func TestPatchChangesOnlyNamedFields(t *testing.T) {
	old := boundRecord{Number: 7, Name: "bad name", Size: "small", Open: true, Level: 3, Secret: "s", Tags: []string{"x"}, Gates: []int64{1}, CreatedAt: 5}
	for _, c := range []struct {
		document, refusedFields string
		change                  func(*boundRecord)
	}{
		{`{}`, "", func(*boundRecord) {}},
		{`{"id":7,"size":"small","secret":"•••","created_at":"1970-01-01T00:00:00.000005+00:00"}`, "", func(*boundRecord) {}},
		{`{"open":false}`, "", func(s *boundRecord) { s.Open = false }}, // the stored name is unchanged, so it is not checked again
		{`{"name":"b","tags":[],"gates":null,"secret":null}`, "", func(s *boundRecord) { s.Name, s.Tags, s.Gates, s.Secret = "b", nil, nil, "" }},
		{`{"level":9}`, "", func(*boundRecord) {}}, // no request can set the level
		{`{"id":8,"size":"large","created_at":null}`, "id size created_at", func(*boundRecord) {}},
		{`{"id":null,"size":null}`, "id size", func(*boundRecord) {}},
		{`{"name":null}`, "name", func(*boundRecord) {}},
		{`{"open":null}`, "open", func(*boundRecord) {}},
		{`{"name":"c d"}`, "name", func(*boundRecord) {}},
	} {
		next := old
		var faults schema.Faults
		shops.Patch(input(t, c.document), &next, &faults)
		shops.Check(&old, &next, &faults)
		if fields := faultyFields(&faults); fields != c.refusedFields {
			t.Errorf("%s: the refused fields are %q, want %q", c.document, fields, c.refusedFields)
		}
		want := old
		c.change(&want)
		if c.refusedFields == "" && !reflect.DeepEqual(next, want) {
			t.Errorf("%s makes %+v, want %+v", c.document, next, want)
		}
	}
}

func TestARecordIsShownWithoutItsSecrets(t *testing.T) {
	for _, c := range []struct {
		record boundRecord
		want   string
	}{
		{boundRecord{Number: 7, Name: "a", Size: "small", Level: 3, Secret: "s", Tags: []string{"x"}, Gates: []int64{1}, CreatedAt: 5},
			`{"id":7,"name":"a","size":"small","open":false,"secret":"•••","tags":["x"],"gates":[1],"created_at":"1970-01-01T00:00:00.000005+00:00"`},
		{boundRecord{Open: true}, `{"id":0,"name":null,"size":null,"open":true,"secret":null,"tags":null,"gates":null,"created_at":"later"`},
	} {
		if got := string(shops.AppendFields([]byte("{"), &c.record, schema.Style{BookedPlaceholder: []byte("later")})); got != c.want {
			t.Errorf("the response shows %s, want %s", got, c.want)
		}
	}
}

// sealer encrypts by inverting bytes. If locked is set, it can neither encrypt nor decrypt.
type vault struct{ locked bool }

func (v vault) Seal(_ *schema.Column, plaintext []byte) ([]byte, error) {
	if v.locked {
		return nil, errors.New("locked")
	}
	return inverted(plaintext), nil
}

func (v vault) Open(_ *schema.Column, sealed []byte) ([]byte, bool) {
	return inverted(sealed), !v.locked
}

func inverted(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = ^b[i]
	}
	return out
}

func TestARecordIsStoredWithItsSecretsSealed(t *testing.T) {
	original := boundRecord{Number: 7, Name: "a", Size: "small", Open: true, Level: 3, Secret: "hidden", Tags: []string{"x"}, Gates: []int64{1}, CreatedAt: 5}
	stored, err := shops.AppendStored(nil, &original, vault{})
	if err != nil || strings.Contains(string(stored), "hidden") {
		t.Fatalf("stored is %q, %v", stored, err)
	}
	var got boundRecord
	if err := shops.ReadStored(stored, &got, vault{}); err != nil {
		t.Fatal(err)
	}
	want := original
	want.CreatedAt = 0 // a transient column is not stored
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the record is %+v, want %+v", got, want)
	}
	got = boundRecord{}
	if err := shops.ReadStored(stored, &got, vault{locked: true}); err != nil || got.Secret != "" || got.Name != "a" {
		t.Errorf("without keys the record is %+v, %v", got, err)
	}
	if _, err := shops.AppendStored(nil, &original, vault{locked: true}); err == nil {
		t.Error("a secret that cannot be encrypted is stored")
	}
	for _, unreadable := range [][]byte{nil, {1}, append([]byte{1}, stored[1:]...), stored[:len(stored)-1]} {
		if err := shops.ReadStored(unreadable, new(boundRecord), vault{}); !errors.Is(err, schema.ErrStored) {
			t.Errorf("%x is read: %v", unreadable, err)
		}
	}
}

func TestChangedListsTheDifferingColumns(t *testing.T) {
	a := boundRecord{Name: "a", Tags: []string{"x"}}
	b := boundRecord{Name: "b", Tags: []string{"x"}, CreatedAt: 5}
	var names []string
	for _, c := range shops.Changed(&a, &b) {
		names = append(names, c.Name)
	}
	if strings.Join(names, " ") != "name created_at" || shops.Equal(&a, &b) || !shops.Equal(&a, &a) {
		t.Errorf("%v differ", names)
	}
}

func TestAColumnThatIsNotBoundOrHasNoHelpPanics(t *testing.T) {
	type other struct{ Name string }
	for name, declare := range map[string]func(){
		"no field": func() { schema.NewType[boundRecord]("shop", schema.Text(1, "a", schema.Help("a")).Column) },
		"another struct": func() {
			schema.NewType[boundRecord]("shop", schema.Field(schema.Text(1, "a", schema.Help("a")), func(o *other) *string { return &o.Name }))
		},
		"no help": func() {
			schema.NewType[boundRecord]("shop", schema.Field(schema.Text(1, "a"), func(s *boundRecord) *string { return &s.Name }))
		},
		"bound two times": func() {
			c := schema.Text(1, "a")
			nameField := func(s *boundRecord) *string { return &s.Name }
			schema.Field(c, nameField)
			schema.Field(c, nameField)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a column with %s is accepted", name)
				}
			}()
			declare()
		}()
	}
}
