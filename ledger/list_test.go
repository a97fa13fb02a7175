package ledger_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

type sale struct {
	partner int64
	large   bool
}

func sales() *ledger.PartnerLists[sale] {
	return ledger.NewPartnerLists(ledger.Transaction, func(s *sale) (int64, money.Env) { return s.partner, money.Test })
}

func everySale(*sale) bool { return true }

func TestARecordIsInTheListsThatShowIt(t *testing.T) {
	lists := sales()
	all, large := lists.Declare(1, everySale), lists.Declare(2, func(s *sale) bool { return s.large })
	first, also := lists.Of(&sale{partner: 7})
	if first != all.Of(7, money.Test) || len(also) != 0 {
		t.Errorf("a small sale is in %v and %v", first, also)
	}
	first, also = lists.Of(&sale{partner: 7, large: true})
	if first != all.Of(7, money.Test) || len(also) != 1 || also[0] != large.Of(7, money.Test) {
		t.Errorf("a large sale is in %v and %v", first, also)
	}
	if first, also = sales().Of(&sale{}); first != (ledger.List{}) || also != nil {
		t.Errorf("without lists, a sale is in %v and %v", first, also)
	}
}

func TestListsDiffer(t *testing.T) {
	lists := sales()
	one, two := lists.Declare(1, everySale), lists.Declare(2, everySale)
	seen := make(map[ledger.List]bool)
	for _, l := range []ledger.List{
		one.Of(1, money.Prod), one.Of(1, money.Test), one.Of(256, money.Prod), two.Of(1, money.Prod),
		ledger.NewList(ledger.Contract, 1, 1), ledger.NewList(ledger.Contract, 1, 2), ledger.NewList(ledger.Contract, 2, 1),
	} {
		if seen[l] {
			t.Errorf("two lists are %v", l)
		}
		seen[l] = true
	}
	if l := two.Of(258, money.Test); l.Kind() != ledger.Transaction || l.Number() != 2 || l.String() != "t2 of 020000000000000102" {
		t.Errorf("the list is %v, of kind %c, number %d", l, l.Kind(), l.Number())
	}
}

// The declaration of a list runs when the program starts, which must fail rather than mix lists.
func TestInvalidListDeclarationPanics(t *testing.T) {
	for name, declare := range map[string]func(){
		"a number used twice": func() {
			lists := sales()
			lists.Declare(1, everySale)
			lists.Declare(1, everySale)
		},
		"one list too many": func() {
			lists := sales()
			for n := range byte(ledger.MaxPartnerLists + 1) {
				lists.Declare(n, everySale)
			}
		},
		"a long owner": func() { ledger.NewList(ledger.Contract, 1, make([]byte, ledger.ListOwner+1)...) },
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

func TestPartnerListDoesNotAllocate(t *testing.T) {
	lists := sales()
	lists.Declare(1, everySale)
	s := &sale{partner: 7}
	if n := testing.AllocsPerRun(100, func() { lists.Of(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
