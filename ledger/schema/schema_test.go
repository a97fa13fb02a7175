package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

func FuzzTextIsQuotedAsByEncodingJSON(f *testing.F) {
	for _, text := range []string{"", "plain", `"\`, "\x00\b\t\n\f\r\x1f\x7f", "<&>\u2028", "\U0001d11e", "\xff\xc3(", "a\xed\xa0\x80"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, _ := jsontext.AppendQuote(nil, text)
		if got := schema.AppendText(nil, text); string(got) != string(want) {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	})
}

// The columns of tableOfEveryKind, a table with a column of each kind.
var (
	words            = []string{"small", "large"}
	innerTable       = schema.NewTable(nil, schema.Text(1, "word", schema.Required), schema.Integer(2, "n", 0, 9, schema.Settable))
	theText          = schema.Text(1, "text", schema.Settable)
	theEnum          = schema.Enum(2, "enum", words, schema.Settable)
	theID            = schema.ID(3, "id", schema.Settable)
	theDate          = schema.Date(4, "date", schema.Settable)
	theInteger       = schema.Integer(5, "integer", -5, 1<<40, schema.Settable)
	thePercent       = schema.Percent(6, "percent", 0, 100, schema.Settable)
	theBool          = schema.Bool(7, "bool", schema.Settable)
	theAmount        = schema.Amount(8, "amount", schema.Settable)
	theSigned        = schema.Signed(9, "signed")
	theInstant       = schema.Instant(10, "instant")
	theTexts         = schema.Texts(11, "texts", schema.Settable)
	theObject        = schema.Object(12, "object", schema.Settable)
	theList          = schema.List(13, "list", schema.Settable)
	theRows          = schema.Rows(14, "rows", innerTable)
	theSingle        = schema.Rows(15, "single", innerTable, schema.Single, schema.Settable)
	tableOfEveryKind = schema.NewTable(nil, theText, theEnum, theID, theDate, theInteger, thePercent, theBool, theAmount, theSigned, theInstant, theTexts, theObject, theList, theRows, theSingle)
)

// fullRow returns a row with a value in each column, and for each shown column the expected JSON.
func fullRow() (r schema.Row, wantJSON map[string]string) {
	r = tableOfEveryKind.New()
	innerRow := innerTable.New()
	innerTable.ByName("word").Put(innerRow, "x")
	innerTable.ByName("n").Put(innerRow, int64(3))
	theText.Set(r, `a "b"`)
	theEnum.Set(r, "large")
	theID.Set(r, uuid.MustParse("0f0e0d0c-0b0a-4908-8706-050403020100"))
	day, _ := schema.ParseDate("2024-10-04")
	theDate.Set(r, day)
	theInteger.Set(r, -5)
	thePercent.Set(r, 100)
	theBool.Set(r, false)
	theAmount.Set(r, money.FromUint64(1<<60))
	theSigned.Set(r, money.Signed{Abs: money.FromUint64(7), Negative: true})
	theInstant.Set(r, ledger.Micros(1_700_000_000_123_456))
	theTexts.Set(r, []string{"a", ""})
	theObject.Set(r, []byte(`{"a": 1}`))
	theList.Set(r, []byte(`["a"]`))
	theRows.Set(r, []schema.Row{innerRow, innerRow})
	theSingle.Set(r, []schema.Row{innerRow})
	return r, map[string]string{
		"text": `"a \"b\""`, "enum": `"large"`, "id": `"0f0e0d0c-0b0a-4908-8706-050403020100"`, "date": `"2024-10-04"`, "integer": "-5", "percent": "100",
		"bool": "false", "amount": `"1152921504606846976"`, "signed": `"-7"`, "instant": `"2023-11-14T22:13:20.123456+00:00"`, "texts": `["a",""]`,
		"object": `{"a": 1}`, "list": `["a"]`, "rows": `[{"word":"x","n":3},{"word":"x","n":3}]`, "single": `{"word":"x","n":3}`,
	}
}

func TestStoredRowRoundTrip(t *testing.T) {
	r, _ := fullRow()
	for _, want := range []schema.Row{r, tableOfEveryKind.New()} {
		got, err := tableOfEveryKind.ReadStored(tableOfEveryKind.AppendStored(nil, want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %v, %v; want %v", got, err, want)
		}
	}
}

func TestStoredBytesOfAnotherFormAreRefused(t *testing.T) {
	r, _ := fullRow()
	stored := tableOfEveryKind.AppendStored(nil, r)
	for n := range stored {
		if _, err := tableOfEveryKind.ReadStored(stored[:n]); err == nil {
			if reread, _ := tableOfEveryKind.ReadStored(stored[:n]); len(tableOfEveryKind.AppendStored(nil, reread)) != n {
				t.Errorf("%d of %d bytes are read as a row", n, len(stored))
			}
		}
	}
	for name, wrongBytes := range map[string][]byte{
		"an id of 15 bytes":           append([]byte{3, 15}, make([]byte, 15)...),
		"a bool of 2 bytes":           {7, 2, 0, 0},
		"a number and a byte more":    {5, 2, 0, 0},
		"half a number":               {5, 1, 0x80},
		"an amount without bytes":     {8, 0},
		"a text longer than its list": {11, 1, 9},
	} {
		if _, err := tableOfEveryKind.ReadStored(wrongBytes); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if r, err := tableOfEveryKind.ReadStored([]byte{200, 1, 7}); err != nil || !reflect.DeepEqual(r, tableOfEveryKind.New()) {
		t.Errorf("an unknown key is read as %v, %v", r, err)
	}
}

func TestFieldsAreShownAccordingToTheirKind(t *testing.T) {
	r, wantJSON := fullRow()
	for _, c := range tableOfEveryKind.Columns {
		got := string(schema.AppendField([]byte("{"), c, c.Value(r), schema.Style{}))
		if want := `{"` + c.Name + `":` + wantJSON[c.Name]; got != want {
			t.Errorf("the response shows %s, want %s", got, want)
		}
	}
	for _, c := range []struct {
		column *schema.Column
		value  any
		style  schema.Style
		want   string
	}{
		{theAmount.Column, money.FromUint64(5), schema.Style{NumericAmounts: true}, `{"amount":5`},
		{theSigned.Column, money.Signed{Abs: money.FromUint64(5), Negative: true}, schema.Style{NumericAmounts: true}, `{"signed":-5`},
		{theText.Column, nil, schema.Style{}, `{"text":null`},
		{theText.Column, "", schema.Style{OmitEmpty: true}, `{`},
		{theBool.Column, false, schema.Style{OmitEmpty: true}, `{"bool":false`},
		{theObject.Column, []byte("{ }"), schema.Style{OmitEmpty: true}, `{`},
		{theRows.Column, nil, schema.Style{}, `{"rows":[]`},
		{theRows.Column, nil, schema.Style{OmitEmpty: true}, `{`},
		{theSingle.Column, nil, schema.Style{}, `{"single":null`},
	} {
		if got := string(schema.AppendField([]byte("{"), c.column, c.value, c.style)); got != c.want {
			t.Errorf("%s %v in %+v is shown as %s, want %s", c.column.Name, c.value, c.style, got, c.want)
		}
	}
}

func TestARequestIsReadByItsColumns(t *testing.T) {
	r, fieldJSON := fullRow()
	input := make(schema.Input)
	for name, value := range fieldJSON {
		input[name] = json.RawMessage(value)
	}
	input["texts"] = json.RawMessage(`["a"]`)
	theTexts.Set(r, []string{"a"})
	for _, derived := range []schema.ColumnRef{theSigned, theInstant, theRows} {
		switch c := derived.(type) {
		case schema.TypedColumn[money.Signed]:
			c.Clear(r)
		case schema.TypedColumn[ledger.Micros]:
			c.Clear(r)
		case schema.TypedColumn[[]schema.Row]:
			c.Clear(r)
		}
	}
	var faults schema.Faults
	got := tableOfEveryKind.Read(input, schema.ParseOptions{}, "", &faults)
	if !faults.IsEmpty() {
		t.Fatal(faults.List)
	}
	for _, c := range tableOfEveryKind.Columns {
		if c.Kind == schema.KindObject || c.Kind == schema.KindList {
			if string(c.Value(got).([]byte)) != string(c.Value(r).([]byte)) {
				t.Errorf("%s is read as %s", c.Name, c.Value(got))
			}
			continue
		}
		if !reflect.DeepEqual(c.Value(got), c.Value(r)) {
			t.Errorf("%s is read as %v, want %v", c.Name, c.Value(got), c.Value(r))
		}
	}
}

func TestEveryFaultOfARequestIsNamed(t *testing.T) {
	wrongJSON := map[string]string{
		"text": `7`, "enum": `"huge"`, "id": `"0f0e"`, "date": `"2024-02-30"`, "integer": "-6", "percent": "101", "bool": `"true"`, "amount": "5",
		"texts": `[""]`, "object": "[]", "list": "[]", "single": `{"n":10}`,
	}
	input := make(schema.Input)
	for name, value := range wrongJSON {
		input[name] = json.RawMessage(value)
	}
	var faults schema.Faults
	tableOfEveryKind.Read(input, schema.ParseOptions{}, "terms.", &faults)
	var named []string
	for _, fault := range faults.List {
		named = append(named, fault.Field)
	}
	want := "terms.text terms.enum terms.id terms.date terms.integer terms.percent terms.bool terms.amount terms.texts terms.object terms.list terms.single"
	if got := strings.Join(named, " "); got != want {
		t.Errorf("the refused fields are %s, want %s", got, want)
	}
}

func TestColumnWithoutKindOrWithDuplicateKeyOrNamePanics(t *testing.T) {
	for name, declare := range map[string]func(){
		"key":  func() { schema.NewTable(nil, schema.Text(1, "a"), schema.Text(1, "b")) },
		"name": func() { schema.NewTable(nil, schema.Text(1, "a"), schema.Text(2, "a")) },
		"kind": func() { schema.NewTable(nil, &schema.Column{Key: 1, Name: "a"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a table with a bad %s is accepted", name)
				}
			}()
			declare()
		}()
	}
}

func TestComputedAndTransientColumnsAreNotStored(t *testing.T) {
	base := schema.Integer(1, "own", 0, 9, schema.Settable)
	transient := schema.DerivedInteger(2, "passing", schema.Transient)
	twice := schema.DerivedInteger(3, "twice", schema.Computed(func(r schema.Row) any { return 2 * base.Get(r) }))
	table := schema.NewTable(nil, base, transient, twice)
	r := table.New()
	base.Set(r, 3)
	transient.Set(r, 5)
	stored := table.AppendStored(nil, r)
	// Stored bytes of a computed column are ignored.
	forged := schema.AppendBytes(append(stored[:len(stored):len(stored)], 3), []byte{18})
	for name, bytes := range map[string][]byte{"as stored": stored, "with a computed value": forged} {
		got, err := table.ReadStored(bytes)
		if err != nil || base.Get(got) != 3 || transient.Has(got) || twice.Get(got) != 6 || twice.Stored(got) != nil {
			t.Errorf("%s: read %v, %v", name, got, err)
		}
	}
}

func TestASparseColumnIsLeftOutWithoutAValue(t *testing.T) {
	reason := schema.Text(1, "reason", schema.Sparse)
	table := schema.NewTable(nil, reason, schema.Text(2, "name"))
	r := table.New()
	if got := string(table.AppendRow(nil, r, schema.Style{})); got != `"name":null` {
		t.Errorf("shown is %s", got)
	}
	reason.Set(r, "late")
	if got := string(table.AppendRow(nil, r, schema.Style{})); got != `"reason":"late","name":null` {
		t.Errorf("shown is %s", got)
	}
}
