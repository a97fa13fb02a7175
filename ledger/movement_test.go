package ledger

import (
	"testing"

	"mizan/ledger/money"
)

func TestMovementsAddUpToTotals(t *testing.T) {
	n := money.FromUint64
	var first, second Movement
	for _, err := range []error{
		first.Post(Debit, n(100)), first.Post(Credit, n(7)), first.Hold(Debit, n(50)), first.Hold(Credit, n(4)),
		second.Post(Credit, n(3)), second.Release(Debit, n(20)), second.Release(Credit, n(4)), second.Hold(Debit, n(1)), second.Unpost(Debit, n(30)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := first.Totals(); !ok || got != (Totals{n(100), n(7), n(50), n(4)}) {
		t.Errorf("the first movement has the totals %v, %v", got, ok)
	}
	if got, ok := second.Totals(); ok {
		t.Errorf("the second movement, which subtracts more than it adds, has the totals %v", got)
	}
	sum := first
	if err := sum.Add(&second); err != nil {
		t.Fatal(err)
	}
	got, ok := sum.Totals()
	if want := (Totals{n(70), n(10), n(31), money.Amount{}}); !ok || got != want {
		t.Errorf("both movements together have the totals %v, %v, want %v", got, ok, want)
	}
	if MovementOf(&got) != sum {
		t.Errorf("the totals are the movement %v, want %v", MovementOf(&got), sum)
	}
}

func TestMovementThatOverflowsIsRefused(t *testing.T) {
	m := Movement{CreditsPosted: money.Signed{Abs: money.Max}}
	before := m
	if err := m.Post(Credit, money.FromUint64(1)); err != money.ErrOverflow || m != before {
		t.Errorf("it is %v, %v", m, err)
	}
	if err := m.Add(&before); err != money.ErrOverflow {
		t.Errorf("the sum is %v, %v", m, err)
	}
}
