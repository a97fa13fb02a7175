package directory

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

func parseRate(t *testing.T, text string) money.Rate {
	t.Helper()
	value, err := money.ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestFieldsOfARateAreChecked(t *testing.T) {
	one := parseRate(t, "1")
	for name, c := range map[string]struct {
		draft Rate
		field string
	}{
		"between fiat currencies":      {Rate{From: "USD", To: "RUB", Value: one}, ""},
		"from fiat to crypto":          {Rate{From: "RUB", To: "USDT", Value: one}, ""},
		"no from":                      {Rate{From: "", To: "RUB", Value: one}, "from"},
		"no to":                        {Rate{From: "USD", To: "", Value: one}, "to"},
		"unknown from":                 {Rate{From: "JPY", To: "RUB", Value: one}, "from"},
		"unknown to":                   {Rate{From: "USD", To: "usd", Value: one}, "to"},
		"a currency of contracts only": {Rate{From: "AED", To: "USD", Value: one}, "from"},
		"the same currency twice":      {Rate{From: "USD", To: "USD", Value: one}, "to"},
		"without a value":              {Rate{From: "USD", To: "RUB", Value: money.Rate{}}, "rate"},
		"largest value":                {Rate{From: "USD", To: "RUB", Value: parseRate(t, "99999999999999999999999999999999999999")}, ""},
		"smallest value":               {Rate{From: "USD", To: "RUB", Value: parseRate(t, "0.0000000000000000000000000000000000001")}, ""},
		"no field at all":              {Rate{}, "from"},
	} {
		_, _, err := NewRate(testID(1), c.draft)
		wantField(t, name, err, c.field)
	}
}

func TestFieldsInTheRequestForARateAreChecked(t *testing.T) {
	for body, field := range map[string]string{
		`{"from":"USD","to":"RUB","rate":"92.5"}`: "",
		`{"from":"USD","to":"RUB","rate":"0"}`:    "rate",
		`{"from":"USD","to":"RUB","rate":92.5}`:   "rate",
		`{"from":"USD","to":"RUB","rate":"-1"}`:   "rate",
		`{"from":"USD","to":"RUB","rate":""}`:     "rate",
		`{"from":"USD","to":"RUB","rate":null}`:   "rate",
		`{"from":"USD","to":"RUB"}`:               "rate",
		`{"to":"RUB","rate":"1"}`:                 "from",
		`{"from":7,"to":"RUB","rate":"1"}`:        "from",
		`{"from":"usd","to":"RUB","rate":"1"}`:    "from",
		`{"from":"USD","to":null,"rate":"1"}`:     "to",
		`{"from":"USD","to":"USD","rate":"1"}`:    "to",
	} {
		_, err := createByRequest(t, Rates, body, func(draft Rate) (*Rate, error) {
			r, _, err := NewRate(testID(1), draft)
			return r, err
		})
		wantField(t, body, err, field)
	}
}

func TestRateEventsHaveTheValues(t *testing.T) {
	org := testID(1)
	r, event, err := NewRate(org, Rate{From: "USD", To: "RUB", Value: parseRate(t, "92.50")})
	if err != nil || r.Org != org || r.From != "USD" || r.To != "RUB" || r.Value.String() != "92.5" {
		t.Fatal(r, err)
	}
	if event.Source != (ledger.Source{Kind: ledger.Rate, ID: r.ID}) || event.Name != "create" || event.From != "" || event.To != "92.5" || event.Entry != nil {
		t.Errorf("creation: %+v", event)
	}
	next, event, err := r.Revalue(parseRate(t, "93"))
	if err != nil || next.Value.String() != "93" || next.ID != r.ID || r.Value.String() != "92.5" {
		t.Fatal(next, r, err)
	}
	if event.Source.ID != r.ID || event.Name != "update" || event.From != "92.5" || event.To != "93" || event.Entry != nil {
		t.Errorf("change: %+v", event)
	}
	if unchanged, event, err := next.Revalue(parseRate(t, "93.0")); err != nil || unchanged != next || event.Name != "" {
		t.Errorf("the value that it has: %+v, %v", event, err)
	}
	_, _, err = next.Revalue(money.Rate{})
	wantField(t, "no value", err, "rate")
}

func TestAPairHasOneRecordInAnOrganization(t *testing.T) {
	org := testID(1)
	id := RateID(org, "USD", "RUB")
	if id != RateID(org, "USD", "RUB") {
		t.Error("the same pair has two ids")
	}
	if id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		t.Errorf("%v is no UUID version 4", id)
	}
	for name, other := range map[string]ledger.ID{
		"the opposite direction": RateID(org, "RUB", "USD"),
		"another pair":           RateID(org, "EUR", "RUB"),
		"another organization":   RateID(testID(2), "USD", "RUB"),
	} {
		if other == id {
			t.Errorf("%s has the same id", name)
		}
	}
}
