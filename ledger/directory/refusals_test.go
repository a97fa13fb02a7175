package directory

import (
	"errors"
	"testing"

	"mizan/ledger"
)

func TestJoinNamesEachFieldOnceInOrder(t *testing.T) {
	field := func(name string) error { return ledger.RefuseField("t", name, "is wrong") }
	err := Join(nil, field("b"), Join(field("a"), field("b"), nil), ledger.RefuseField("t", "a", "again"))
	var all Refusals
	if !errors.As(err, &all) || len(all) != 2 || all[0].Field != "b" || all[1].Field != "a" || all[1].Detail != "is wrong" {
		t.Errorf("%v", err)
	}
	var first *ledger.Refusal
	if !errors.As(err, &first) || first.Field != "b" {
		t.Errorf("the first of it is %v", first)
	}
}

func TestJoinOfOneOrNoRefusal(t *testing.T) {
	one := ledger.RefuseField("t", "a", "is wrong")
	if err := Join(nil, one, nil); err != error(one) {
		t.Errorf("%v", err)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("%v", err)
	}
}

func TestErrorWithoutAFieldIsReturnedAlone(t *testing.T) {
	gone := ledger.Refuse("t", ledger.NotFound, "no such thing")
	if err := Join(ledger.RefuseField("t", "a", "is wrong"), gone); err != error(gone) {
		t.Errorf("%v", err)
	}
	broken := errors.New("the store is broken")
	if err := Join(ledger.RefuseField("t", "a", "is wrong"), broken); err != broken {
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
