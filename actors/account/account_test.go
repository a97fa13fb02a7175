package account

import (
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// available = posted credits − posted debits − pending debits; the overdraft adds to it.
func TestAmountUpToAvailableFundsAndOverdraftIsCovered(t *testing.T) {
	largest := money.Max.String()
	for _, c := range []struct {
		credits, debits, held, overdraft, amount string
		want                                     bool
	}{
		{"100", "0", "0", "0", "100", true},
		{"100", "0", "0", "0", "101", false},
		{"100", "30", "20", "0", "50", true},
		{"100", "30", "20", "0", "51", false},
		{"100", "30", "20", "5", "55", true},
		{"100", "30", "20", "5", "56", false},
		{"0", "0", "0", "0", "1", false},
		{"0", "10", "0", "15", "5", true}, // available funds are below zero
		{"0", "10", "0", "15", "6", false},
		{"0", "10", "0", "9", "0", false},
		{largest, "0", "0", largest, largest, true}, // funds and overdraft add up to more than money.Max
		{"0", largest, "1", "0", "1", false},        // the debits add up to more than money.Max
	} {
		parse := money.MustParse
		totals := ledger.Totals{CreditsPosted: parse(c.credits), DebitsPosted: parse(c.debits), DebitsPending: parse(c.held)}
		if got := covers(totals, parse(c.amount), parse(c.overdraft)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// CheckFunds only saves the journal's writer work: if an account cannot answer, the amount is admitted, and
// the writer decides. Every call of CheckFunds gets exactly one answer.
func TestBusyAccountAdmits(t *testing.T) {
	world := testkit.NewWorld(t, start)
	world.JournalOptions.Clock, world.RuntimeOptions.Clock = clock.Real{}, clock.Real{}
	world.Open()
	rt := world.Runtime
	s := New(rt)
	rt.Start(func(posting.DueItem) bool { return false })
	accountKey := key{uuid.UUID{1}, ledger.Account{Path: ledger.PartnerAvailable(1), Asset: money.Asset{Currency: "USD", Env: money.Prod}}}
	askAdmission := func() []bool {
		answers := make(chan bool, 3)
		s.CheckFunds(accountKey.org, accountKey.account, money.FromUint64(1), money.Amount{}, func(ok bool) { answers <- ok })
		rt.Quiesce()
		close(answers)
		var all []bool
		for ok := range answers {
			all = append(all, ok)
		}
		return all
	}
	if got := askAdmission(); len(got) != 1 || got[0] {
		t.Errorf("an empty account answered %v", got)
	}
	s.registry.Tell(accountKey, "what is this") // the actor panics and is rebuilt
	if got := askAdmission(); len(got) != 1 || got[0] {
		t.Errorf("after a panic an empty account answered %v", got)
	}
	var refused []bool
	(&fundsCheck{answer: func(ok bool) { refused = append(refused, ok) }}).Refuse(actors.ErrBusy)
	if len(refused) != 1 || !refused[0] {
		t.Errorf("a busy account answered %v", refused)
	}
}
