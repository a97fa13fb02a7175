package posting_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// act is one step of a record's life cycle (such as a hold, a capture, a void or a refund), with the totals and the header
// that are expected afterwards.
type act struct {
	name      string
	record    string // the name that the test gives to the record
	events    []eventEntry
	isGuarded bool        // with a funds guard: the available balance of partner 1 must not become negative
	refusal   ledger.Code // code with which the act must be refused; empty: it must be accepted

	// want has the expected totals of the relevant accounts: posted debits/credits, followed by the pending
	// ones if there are any. The key is the path, followed by the currency if it is not USD.
	want map[string]string

	// The expected HeldSeq and SettledSeq of the record's header: the event with the record's open hold, and the first event
	// that posted or captured. Each is given as the event's version (its number among the record's events); 0: none.
	heldVersion, settledVersion uint64
}

// eventEntry is the entry of an event; without a phase the event has no entry. A capture or a void closes the
// record's open hold.
type eventEntry struct {
	phase    ledger.Phase
	postings []ledger.Posting
}

func posts(p ...ledger.Posting) eventEntry    { return eventEntry{ledger.Posted, p} }
func holds(p ...ledger.Posting) eventEntry    { return eventEntry{ledger.Pending, p} }
func captures(p ...ledger.Posting) eventEntry { return eventEntry{ledger.Capture, p} }
func voids() eventEntry                       { return eventEntry{phase: ledger.Void} }

const (
	terminalX ledger.Path = "A:provider:x"
	terminalY ledger.Path = "A:provider:y"
	bank      ledger.Path = "A:bank"
	fees      ledger.Path = "I:fees"
	fx        ledger.Path = "Q:fx_position"
)

func debit(path ledger.Path, n uint64) ledger.Posting  { return line(path, ledger.Debit, n) }
func credit(path ledger.Path, n uint64) ledger.Posting { return line(path, ledger.Credit, n) }

func inEUR(p ledger.Posting) ledger.Posting {
	p.Asset.Currency = "EUR"
	return p
}

// stage performs acts on a journal. For each record it keeps what the callers of a real journal would know.
type stage struct {
	*fixture
	records map[string]*knownRecord
}

type knownRecord struct {
	source  ledger.Source
	version uint64
	seqs    []uint64         // seq of each event; the index is the event's version - 1
	held    []ledger.Posting // postings of the open hold
}

func (s *stage) play(a *act) {
	s.t.Helper()
	known := s.records[a.record]
	if known == nil {
		known = &knownRecord{source: newTransaction()}
		s.records[a.record] = known
	}
	c, held := s.change(a, known)
	receipt := s.submit(c)
	if a.refusal != "" {
		wantCode(s.t, receipt.Err, a.refusal)
	} else if receipt.Err != nil {
		s.t.Fatalf("%s: %v", a.name, receipt.Err)
	} else {
		known.held = held
		for i := range c.Steps[0].Events {
			known.seqs = append(known.seqs, c.Steps[0].Events[i].Seq)
		}
		known.version = receipt.Headers[0].Version
		s.wantHeader(a, known, receipt.Headers[0])
	}
	s.wantAccounts(a)
}

func (s *stage) change(a *act, known *knownRecord) (c *posting.Change, held []ledger.Posting) {
	held = known.held
	step := posting.Step{Org: org, Source: known.source, Expect: known.version, Record: []byte{1}}
	for _, e := range a.events {
		event := ledger.Event{Name: a.name, To: "b"}
		entry := &ledger.Entry{Phase: e.phase, Postings: slices.Clone(e.postings)}
		switch event.Entry = entry; e.phase {
		case 0:
			event.Entry = nil
		case ledger.Pending:
			held = e.postings
		case ledger.Capture:
			entry.Released, held = slices.Clone(held), nil
		case ledger.Void:
			entry.Postings, held = slices.Clone(held), nil
		}
		step.Events = append(step.Events, event)
	}
	c = &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{step}}
	if a.isGuarded {
		c.Funds = []ledger.FundsGuard{{Org: org, Account: ledger.Account{Path: available, Asset: usd}}}
	}
	return c, held
}

func (s *stage) wantHeader(a *act, known *knownRecord, got posting.RecordHeader) {
	s.t.Helper()
	seq := func(version uint64) uint64 {
		if version == 0 {
			return 0
		}
		return known.seqs[version-1]
	}
	if got.HeldSeq != seq(a.heldVersion) || got.SettledSeq != seq(a.settledVersion) {
		s.t.Errorf("%s: held %d and settled %d, want %d and %d", a.name, got.HeldSeq, got.SettledSeq, seq(a.heldVersion), seq(a.settledVersion))
	}
}

func (s *stage) wantAccounts(a *act) {
	s.t.Helper()
	v := s.View()
	defer v.Close()
	for _, name := range slices.Sorted(maps.Keys(a.want)) {
		path, currency, hasCurrency := strings.Cut(name, " ")
		account := ledger.Account{Path: ledger.Path(path), Asset: usd}
		if hasCurrency {
			account.Asset.Currency = money.Currency(currency)
		}
		t, err := v.Totals(org, account)
		if err != nil {
			s.t.Fatal(err)
		}
		got := fmt.Sprintf("%v/%v", t.DebitsPosted, t.CreditsPosted)
		if !t.DebitsPending.IsZero() || !t.CreditsPending.IsZero() {
			got += fmt.Sprintf(" +%v/%v", t.DebitsPending, t.CreditsPending)
		}
		if got != a.want[name] {
			s.t.Errorf("%s: %s has %s, want %s", a.name, name, got, a.want[name])
		}
	}
}

// playAll performs the acts one after the other. Then it performs them on a new journal that is restarted before each act, so
// that the writer has to read its state from the store.
func playAll(t *testing.T, acts []act) {
	t.Helper()
	for _, restarts := range []bool{false, true} {
		s := &stage{fixture: open(t), records: map[string]*knownRecord{}}
		for i := range acts {
			if restarts {
				s.restart()
			}
			s.play(&acts[i])
		}
	}
}

// spentPartner are acts after which 20 are available to the partner: 90 were credited (a payment of 100 less a fee of 10),
// and 70 were paid out.
//
// maySpill makes a posting on the available balance that may be split: a credit first pays the partner's debt
// (the receivable), and the part of a debit that exceeds the available balance becomes debt.
var spentPartner = []act{
	{name: "charge", record: "payment", events: []eventEntry{posts(debit(terminalX, 100), maySpill(ledger.Credit, 90), credit(fees, 10))},
		want: map[string]string{"L:partner:1:available": "0/90"}, settledVersion: 1},
	{name: "settlement out", record: "settlement", events: []eventEntry{posts(debit(available, 70), credit(bank, 70))}, isGuarded: true,
		want: map[string]string{"L:partner:1:available": "70/90"}, settledVersion: 1},
}

// refundHold holds 85 for a refund: 80 from the partner, and 5 of the fee.
var refundHold = act{name: "refunding", record: "payment", events: []eventEntry{holds(debit(available, 80), debit(fees, 5), credit(terminalX, 85))},
	want: map[string]string{
		"L:partner:1:available": "70/90 +80/0", "I:fees": "0/10 +5/0", "A:provider:x": "100/0 +0/85", "A:partner:1:receivable": "0/0",
	}, heldVersion: 2, settledVersion: 1}

func TestPendingRefundIsHeldInFullAndItsCaptureMayCreateDebt(t *testing.T) {
	playAll(t, append(slices.Clone(spentPartner), refundHold, act{
		name: "refunded", record: "payment", events: []eventEntry{captures(maySpill(ledger.Debit, 80), debit(fees, 5), credit(terminalX, 85))},
		want: map[string]string{
			"L:partner:1:available": "90/90", "A:partner:1:receivable": "60/0", "I:fees": "5/10", "A:provider:x": "100/85",
		}, settledVersion: 1,
	}))
}

func TestFailedRefundReleasesItsWholeHold(t *testing.T) {
	playAll(t, append(slices.Clone(spentPartner), refundHold, act{
		name: "refused", record: "payment", events: []eventEntry{voids()},
		want: map[string]string{
			"L:partner:1:available": "70/90", "A:partner:1:receivable": "0/0", "I:fees": "0/10", "A:provider:x": "100/0",
		}, settledVersion: 1,
	}))
}

func TestPayoutIsRefusedWhileARefundOverdrawsAvailable(t *testing.T) {
	payout := act{name: "payout", record: "payout", events: []eventEntry{holds(debit(available, 1), credit(terminalX, 1))}, isGuarded: true, refusal: ledger.InsufficientFunds,
		want: map[string]string{"L:partner:1:available": "70/90 +80/0"}}
	playAll(t, append(slices.Clone(spentPartner), refundHold, payout))
}

// Each of two refunds of one partner has its own hold: the first refund can neither spend nor release the hold of the second.
func TestConcurrentRefundsDoNotSpendEachOthersHolds(t *testing.T) {
	twoHolds := []act{
		{name: "deposit", record: "deposit", events: []eventEntry{posts(debit(bank, 100), credit(available, 100))}, settledVersion: 1},
		{name: "first", record: "first", events: []eventEntry{holds(debit(available, 80), credit(terminalX, 80))}, heldVersion: 1},
		{name: "second", record: "second", events: []eventEntry{holds(debit(available, 60), credit(terminalX, 60))}, heldVersion: 1,
			want: map[string]string{"L:partner:1:available": "0/100 +140/0"}},
		{name: "first refunded", record: "first", events: []eventEntry{captures(maySpill(ledger.Debit, 80), credit(terminalX, 80))}, settledVersion: 2,
			want: map[string]string{"L:partner:1:available": "40/100 +60/0", "A:partner:1:receivable": "40/0"}},
	}
	t.Run("both refunds are made", func(t *testing.T) {
		playAll(t, append(slices.Clone(twoHolds), act{
			name: "second refunded", record: "second", events: []eventEntry{captures(maySpill(ledger.Debit, 60), credit(terminalX, 60))}, settledVersion: 2,
			want: map[string]string{"L:partner:1:available": "100/100", "A:partner:1:receivable": "40/0"},
		}))
	})
	t.Run("the second refund is refused", func(t *testing.T) {
		playAll(t, append(slices.Clone(twoHolds),
			act{name: "second refused", record: "second", events: []eventEntry{voids()},
				want: map[string]string{"L:partner:1:available": "40/100", "A:partner:1:receivable": "40/0"}},
			act{name: "charge", record: "payment", events: []eventEntry{posts(debit(terminalX, 50), maySpill(ledger.Credit, 50))}, settledVersion: 1,
				want: map[string]string{"L:partner:1:available": "40/110", "A:partner:1:receivable": "40/40"}},
		))
	})
}

// When the refund is captured, the available balance is zero, so the capture has no posting on the available account. But
// this account gets a line that explains why its hold is gone.
func TestRefundWithoutBalanceBecomesDebt(t *testing.T) {
	s := &stage{fixture: open(t), records: map[string]*knownRecord{}}
	s.play(&act{name: "refunding", record: "r", events: []eventEntry{holds(debit(available, 80), credit(terminalX, 80))}, heldVersion: 1})
	s.play(&act{name: "refunded", record: "r", events: []eventEntry{captures(maySpill(ledger.Debit, 80), credit(terminalX, 80))}, settledVersion: 2,
		want: map[string]string{"L:partner:1:available": "0/0", "A:partner:1:receivable": "80/0", "A:provider:x": "0/80"}})
	v := s.View()
	defer v.Close()
	var phases []ledger.Phase
	err := v.LinesAscending(org, ledger.Account{Path: available, Asset: usd}, func(l *posting.Line) (bool, error) {
		phases = append(phases, l.Phase)
		return true, nil
	})
	if want := []ledger.Phase{ledger.Pending, ledger.Void}; err != nil || !slices.Equal(phases, want) {
		t.Errorf("lines %v (%v), want %v", phases, err, want)
	}
}

func TestCaptureMayPostToOtherAccountsThanItsHold(t *testing.T) {
	hold := act{name: "hold", record: "payment", events: []eventEntry{holds(debit(terminalX, 110), credit(available, 100), credit(fees, 10))},
		want: map[string]string{"A:provider:x": "0/0 +110/0", "L:partner:1:available": "0/0 +0/100", "I:fees": "0/0 +0/10"}, heldVersion: 1}
	for name, c := range map[string]struct {
		capture eventEntry
		want    map[string]string
	}{
		"smaller amounts": {
			captures(debit(terminalX, 44), maySpill(ledger.Credit, 40), credit(fees, 4)),
			map[string]string{"A:provider:x": "44/0", "L:partner:1:available": "0/40", "I:fees": "0/4"},
		},
		"fewer postings": {
			captures(debit(terminalX, 50), maySpill(ledger.Credit, 50)),
			map[string]string{"A:provider:x": "50/0", "L:partner:1:available": "0/50", "I:fees": "0/0"},
		},
		"more postings, on other accounts": {
			captures(debit(terminalX, 60), credit(available, 30), credit("L:suspense:1", 20), credit(fees, 10), debit(terminalY, 5), credit(available, 5)),
			map[string]string{"A:provider:x": "60/0", "A:provider:y": "5/0", "L:partner:1:available": "0/35", "L:suspense:1": "0/20", "I:fees": "0/10"},
		},
		"only accounts without a hold": {
			captures(debit(terminalY, 7), credit("L:suspense:1", 7)),
			map[string]string{
				"A:provider:x": "0/0", "A:provider:y": "7/0", "L:partner:1:available": "0/0", "L:suspense:1": "0/7", "I:fees": "0/0",
			},
		},
		"the partner's posting on the other side": {
			captures(debit(terminalX, 10), maySpill(ledger.Debit, 5), credit(fees, 15)),
			map[string]string{"A:provider:x": "10/0", "L:partner:1:available": "0/0", "A:partner:1:receivable": "5/0", "I:fees": "0/15"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			playAll(t, []act{hold, {name: "commit", record: "payment", events: []eventEntry{c.capture}, want: c.want, settledVersion: 2}})
		})
	}
}

func TestCapturePaysDebtFirstEvenIfAllWasHeldAsAvailable(t *testing.T) {
	playAll(t, []act{
		{name: "owe", record: "earlier", events: []eventEntry{posts(debit(receivable, 30), credit(terminalX, 30))}, settledVersion: 1},
		{name: "hold", record: "payment", events: []eventEntry{holds(debit(terminalX, 100), credit(available, 100))}, heldVersion: 1,
			want: map[string]string{"L:partner:1:available": "0/0 +0/100", "A:partner:1:receivable": "30/0"}},
		{name: "commit", record: "payment", events: []eventEntry{captures(debit(terminalX, 100), maySpill(ledger.Credit, 100))}, settledVersion: 2,
			want: map[string]string{"L:partner:1:available": "0/70", "A:partner:1:receivable": "30/30"}},
	})
}

// The new hold may take the funds that the old hold releases, and no more.
func TestHoldIsReplacedInOneStep(t *testing.T) {
	exchange := func(n uint64) []eventEntry {
		return []eventEntry{{}, voids(), {}, holds(debit(available, n), credit(terminalY, n))}
	}
	playAll(t, []act{
		{name: "deposit", record: "deposit", events: []eventEntry{posts(debit(bank, 100), credit(available, 100))}, settledVersion: 1},
		{name: "payout", record: "payout", events: []eventEntry{{}, holds(debit(available, 100), credit(terminalX, 100))}, isGuarded: true, heldVersion: 2,
			want: map[string]string{"L:partner:1:available": "0/100 +100/0", "A:provider:x": "0/0 +0/100"}},
		{name: "one too many", record: "payout", events: exchange(101), isGuarded: true, refusal: ledger.InsufficientFunds,
			want: map[string]string{"L:partner:1:available": "0/100 +100/0", "A:provider:x": "0/0 +0/100", "A:provider:y": "0/0"}},
		{name: "another terminal", record: "payout", events: exchange(100), isGuarded: true, heldVersion: 6,
			want: map[string]string{"L:partner:1:available": "0/100 +100/0", "A:provider:x": "0/0", "A:provider:y": "0/0 +0/100"}},
		{name: "and another", record: "payout", events: exchange(95), isGuarded: true, heldVersion: 10,
			want: map[string]string{"L:partner:1:available": "0/100 +95/0", "A:provider:y": "0/0 +0/95"}},
		{name: "paid", record: "payout", events: []eventEntry{captures(debit(available, 95), credit(terminalY, 95))}, settledVersion: 11,
			want: map[string]string{"L:partner:1:available": "95/100", "A:provider:y": "0/95"}},
	})
}

func TestRecordMayHoldAndCloseInOneStep(t *testing.T) {
	playAll(t, []act{
		{name: "hold and void", record: "a", events: []eventEntry{holds(debit(terminalX, 5), credit(available, 5)), voids()},
			want: map[string]string{"A:provider:x": "0/0", "L:partner:1:available": "0/0"}},
		{name: "hold and capture", record: "b", events: []eventEntry{holds(debit(terminalX, 5), credit(available, 5)), captures(debit(terminalX, 4), credit(available, 4))}, settledVersion: 2,
			want: map[string]string{"A:provider:x": "4/0", "L:partner:1:available": "0/4"}},
	})
}

// The header of a record names the charge as the first settled entry, whatever the record holds later.
func TestRecordMayHoldAgainAfterSettling(t *testing.T) {
	refund := func(name string, n, heldVersion uint64) act {
		return act{name: name, record: "payment", events: []eventEntry{holds(debit(available, n), credit(terminalX, n))}, heldVersion: heldVersion}
	}
	for name, c := range map[string]struct {
		charge         []act
		settledVersion uint64
	}{
		"charged at once": {[]act{
			{name: "charge", record: "payment", events: []eventEntry{{}, posts(debit(terminalX, 100), maySpill(ledger.Credit, 100))}, settledVersion: 2},
		}, 2},
		"held, then charged": {[]act{
			{name: "hold", record: "payment", events: []eventEntry{holds(debit(terminalX, 100), credit(available, 100))}, heldVersion: 1},
			{name: "charge", record: "payment", events: []eventEntry{captures(debit(terminalX, 100), maySpill(ledger.Credit, 100))}, settledVersion: 2},
		}, 2},
		"held twice, then charged": {[]act{
			{name: "hold", record: "payment", events: []eventEntry{holds(debit(terminalY, 100), credit(available, 100))}, heldVersion: 1},
			{name: "another", record: "payment", events: []eventEntry{voids(), holds(debit(terminalX, 100), credit(available, 100))}, heldVersion: 3},
			{name: "charge", record: "payment", events: []eventEntry{captures(debit(terminalX, 100), maySpill(ledger.Credit, 100))}, settledVersion: 4},
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			acts := append(slices.Clone(c.charge),
				refund("first", 30, c.settledVersion+1),
				act{name: "first made", record: "payment", events: []eventEntry{captures(maySpill(ledger.Debit, 30), credit(terminalX, 30))},
					want: map[string]string{"L:partner:1:available": "30/100", "A:provider:x": "100/30"}},
				refund("second", 50, c.settledVersion+3),
				act{name: "second refused", record: "payment", events: []eventEntry{voids()},
					want: map[string]string{"L:partner:1:available": "30/100", "A:provider:x": "100/30"}},
				act{name: "third at once", record: "payment", events: []eventEntry{posts(maySpill(ledger.Debit, 70), credit(terminalX, 70))},
					want: map[string]string{"L:partner:1:available": "100/100", "A:provider:x": "100/100"}},
			)
			for i := len(c.charge); i < len(acts); i++ {
				acts[i].settledVersion = c.settledVersion
			}
			playAll(t, acts)
		})
	}
}

func TestConversionBalancesEachAssetAndPaysDebtOnlyInTheSameAsset(t *testing.T) {
	owe := act{name: "owe", record: "earlier", settledVersion: 1, events: []eventEntry{posts(
		debit(receivable, 20), credit(terminalX, 20), inEUR(debit(receivable, 50)), inEUR(credit(terminalX, 50)))}}
	entry := []ledger.Posting{debit(terminalX, 100), credit(fees, 3), credit(fx, 97), inEUR(debit(fx, 90)), inEUR(maySpill(ledger.Credit, 90))}
	wantTotals := map[string]string{
		"A:provider:x": "100/20", "I:fees": "0/3", "Q:fx_position": "0/97", "Q:fx_position EUR": "90/0",
		"L:partner:1:available": "0/0", "A:partner:1:receivable": "20/0",
		"L:partner:1:available EUR": "0/40", "A:partner:1:receivable EUR": "50/50",
	}
	t.Run("at once", func(t *testing.T) {
		playAll(t, []act{owe, {name: "charge", record: "payment", events: []eventEntry{posts(entry...)}, want: wantTotals, settledVersion: 1}})
	})
	t.Run("held first", func(t *testing.T) {
		heldPostings := slices.Clone(entry)
		heldPostings[4].SplitWith = ""
		playAll(t, []act{owe,
			{name: "hold", record: "payment", events: []eventEntry{holds(heldPostings...)}, heldVersion: 1, want: map[string]string{
				"A:provider:x": "0/20 +100/0", "L:partner:1:available EUR": "0/0 +0/90", "A:partner:1:receivable EUR": "50/0",
			}},
			{name: "charge", record: "payment", events: []eventEntry{captures(entry...)}, want: wantTotals, settledVersion: 2},
		})
	})
	t.Run("reversed, more than is available", func(t *testing.T) {
		playAll(t, []act{owe, {name: "charge", record: "payment", events: []eventEntry{posts(entry...)}, want: wantTotals, settledVersion: 1},
			{name: "return", record: "return", settledVersion: 1, events: []eventEntry{posts(
				inEUR(maySpill(ledger.Debit, 90)), inEUR(credit(fx, 90)), debit(fx, 97), debit(fees, 3), credit(terminalX, 100))},
				want: map[string]string{
					"L:partner:1:available EUR": "40/40", "A:partner:1:receivable EUR": "100/50", "A:partner:1:receivable": "20/0",
					"Q:fx_position": "97/97", "Q:fx_position EUR": "90/90", "I:fees": "3/3", "A:provider:x": "100/120",
				}},
		})
	})
}
