package ledger_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

type sale struct {
	partner int64
	isLarge bool
}

func newSaleLists() *ledger.PartnerLists[sale] {
	return ledger.NewPartnerLists(ledger.Transaction, func(s *sale) (int64, money.Env) { return s.partner, money.Test })
}

func everySale(*sale) bool { return true }

func TestARecordIsInTheListsThatShowIt(t *testing.T) {
	lists := newSaleLists()
	allSales, largeSales := lists.Declare(1, everySale), lists.Declare(2, func(s *sale) bool { return s.isLarge })
	first, others := lists.Of(&sale{partner: 7})
	if first != allSales.Of(7, money.Test) || len(others) != 0 {
		t.Errorf("a small sale is in %v and %v", first, others)
	}
	first, others = lists.Of(&sale{partner: 7, isLarge: true})
	if first != allSales.Of(7, money.Test) || len(others) != 1 || others[0] != largeSales.Of(7, money.Test) {
		t.Errorf("a large sale is in %v and %v", first, others)
	}
	if first, others = newSaleLists().Of(&sale{}); first != (ledger.List{}) || others != nil {
		t.Errorf("without lists, a sale is in %v and %v", first, others)
	}
}

func TestListsDiffer(t *testing.T) {
	lists := newSaleLists()
	firstList, secondList := lists.Declare(1, everySale), lists.Declare(2, everySale)
	seen := make(map[ledger.List]bool)
	for _, l := range []ledger.List{
		firstList.Of(1, money.Prod), firstList.Of(1, money.Test), firstList.Of(256, money.Prod), secondList.Of(1, money.Prod),
		ledger.NewList(ledger.Contract, 1, 1), ledger.NewList(ledger.Contract, 1, 2), ledger.NewList(ledger.Contract, 2, 1),
	} {
		if seen[l] {
			t.Errorf("two lists are %v", l)
		}
		seen[l] = true
	}
	if l := secondList.Of(258, money.Test); l.Kind() != ledger.Transaction || l.Number() != 2 || l.String() != "t2 of 020000000000000102" {
		t.Errorf("the list is %v, of kind %c, number %d", l, l.Kind(), l.Number())
	}
}

// Lists are declared when the program starts. An invalid declaration must stop the program, since it would mix lists.
func TestInvalidListDeclarationPanics(t *testing.T) {
	for name, declare := range map[string]func(){
		"a number used twice": func() {
			lists := newSaleLists()
			lists.Declare(1, everySale)
			lists.Declare(1, everySale)
		},
		"one list too many": func() {
			lists := newSaleLists()
			for n := range byte(ledger.MaxPartnerLists + 1) {
				lists.Declare(n, everySale)
			}
		},
		"a long owner": func() { ledger.NewList(ledger.Contract, 1, make([]byte, ledger.ListOwnerLength+1)...) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			declare()
		}()
	}
}

func TestFindingTheListsOfARecordDoesNotAllocate(t *testing.T) {
	lists := newSaleLists()
	lists.Declare(1, everySale)
	s := &sale{partner: 7}
	if n := testing.AllocsPerRun(100, func() { lists.Of(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
