package directory

import (
	"errors"
	"testing"

	"mizan/ledger"
)

func TestJoinNamesEachFieldOnceInOrder(t *testing.T) {
	field := func(name string) error { return ledger.RefuseField("t", name, "is wrong") }
	err := Join(nil, field("b"), Join(field("a"), field("b"), nil), ledger.RefuseField("t", "a", "again"))
	var refused Refusals
	if !errors.As(err, &refused) || len(refused) != 2 || refused[0].Field != "b" || refused[1].Field != "a" || refused[1].Detail != "is wrong" {
		t.Errorf("%v", err)
	}
	var first *ledger.Refusal
	if !errors.As(err, &first) || first.Field != "b" {
		t.Errorf("errors.As finds %v", first)
	}
}

func TestJoinOfOneOrNoRefusal(t *testing.T) {
	single := ledger.RefuseField("t", "a", "is wrong")
	if err := Join(nil, single, nil); err != error(single) {
		t.Errorf("%v", err)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("%v", err)
	}
}

func TestErrorWithoutAFieldIsReturnedAlone(t *testing.T) {
	notFound := ledger.Refuse("t", ledger.NotFound, "no such thing")
	if err := Join(ledger.RefuseField("t", "a", "is wrong"), notFound); err != error(notFound) {
		t.Errorf("%v", err)
	}
	storeErr := errors.New("the store is broken")
	if err := Join(ledger.RefuseField("t", "a", "is wrong"), storeErr); err != storeErr {
		t.Errorf("%v", err)
	}
}

func TestCountriesAreTheAssignedCodes(t *testing.T) {
	if len(countries) != 249 {
		t.Errorf("%d countries", len(countries))
	}
	for code, assigned := range map[string]bool{
		"AD": true, "GB": true, "RU": true, "SS": true, "ZW": true, "AX": true, "TW": true,
		"UK": false, "EU": false, "XK": false, "SU": false, "AN": false, "ZZ": false, "AA": false, "ru": false, "": false, "A D": false,
	} {
		if countries[code] != assigned {
			t.Errorf("%q is assigned: %v", code, countries[code])
		}
	}
}
