package reconciliation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// found returns a difference of 1000 in a line and 900 in an entry, as far as the kind has them.
func found(kind DifferenceKind, lineKind LineKind, isOutgoing bool) *FoundDifference {
	r := &Report{ID: uuid.New(), Org: uuid.New(), Terminal: uuid.UUID{1}}
	l := line(1000, "a")
	l.Kind, l.Outgoing = lineKind, isOutgoing
	e := entry(5, 900)
	e.Outgoing = isOutgoing
	f := Found{Kind: kind, Line: &l, Entry: &e}
	switch kind {
	case MissingHere, Duplicate:
		f.Entry = nil
	case MissingThere:
		f.Line = nil
	case Currency:
		e.Asset = eur
	}
	d, _ := NewDifference(uuid.New(), r, today, f)
	return d
}

// feeOnly returns a difference of a line that has no amount, but a fee of 125.
func feeOnly(lineKind LineKind) *FoundDifference {
	l := line(0, "a")
	l.Kind, l.Fee = lineKind, money.Signed{Abs: money.FromUint64(125)}
	d, _ := NewDifference(uuid.New(), &Report{ID: uuid.New(), Org: uuid.New(), Terminal: uuid.UUID{1}}, today, Found{Kind: MissingHere, Line: &l})
	return d
}

// The postings of every decision, by kind of difference; copied from the table of postings. "-" means that the decision is
// refused, and "none" that it posts nothing.
func TestDecisionsByKind(t *testing.T) {
	const provider = "A:provider:01000000-0000-0000-0000-000000000000"
	const transit, unidentified = "A:in_transit:01000000-0000-0000-0000-000000000000", "L:unidentified:01000000-0000-0000-0000-000000000000"
	for _, c := range []struct {
		name       string
		difference *FoundDifference
		want       map[Action]string
	}{
		{"a charge missing here", found(MissingHere, Charge, false), map[Action]string{
			WriteOff: "Dr " + provider + " 1000 Cr " + unidentified + " 1000", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a refund missing here", found(MissingHere, Refund, true), map[Action]string{
			WriteOff: "Dr E:write_offs 1000 Cr " + provider + " 1000", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a fee missing here", found(MissingHere, FeeCharge, true), map[Action]string{
			WriteOff: "Dr E:write_offs 1000 Cr " + provider + " 1000", AcceptFee: "Dr E:provider_fees 1000 Cr " + provider + " 1000", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a fee without an amount", feeOnly(FeeCharge), map[Action]string{
			WriteOff: "Dr E:write_offs 125 Cr " + provider + " 125", AcceptFee: "Dr E:provider_fees 125 Cr " + provider + " 125", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a payout missing here", found(MissingHere, PaidOut, true), map[Action]string{
			WriteOff: "Dr E:write_offs 1000 Cr " + provider + " 1000", AcceptFee: "-", Wait: "none", Transit: "Dr " + transit + " 1000 Cr " + provider + " 1000", Arrive: "-"}},
		{"a charge missing there", found(MissingThere, Charge, false), map[Action]string{
			WriteOff: "Dr E:write_offs 900 Cr " + provider + " 900", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a refund missing there", found(MissingThere, Refund, true), map[Action]string{
			WriteOff: "Dr " + provider + " 900 Cr " + unidentified + " 900", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a larger charge", found(AmountDiffers, Charge, false), map[Action]string{
			WriteOff: "Dr " + provider + " 100 Cr " + unidentified + " 100", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a larger refund", found(AmountDiffers, Refund, true), map[Action]string{
			WriteOff: "Dr E:write_offs 100 Cr " + provider + " 100", AcceptFee: "Dr E:provider_fees 100 Cr " + provider + " 100", Wait: "none", Transit: "-", Arrive: "-"}},
		{"another currency", found(Currency, Charge, false), map[Action]string{
			WriteOff:  "Dr " + provider + " 1000 Cr " + unidentified + " 1000 Dr E:write_offs 900 Cr " + provider + " 900",
			AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"another date", found(DateDiffers, Charge, false), map[Action]string{WriteOff: "-", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-"}},
		{"a duplicate", found(Duplicate, Charge, false), map[Action]string{WriteOff: "-", AcceptFee: "-", Wait: "none", Transit: "-", Arrive: "-", Link: "none"}},
	} {
		for action, want := range c.want {
			decided, err := c.difference.Decide(Request{Decision: action, Note: "n"}, Facts{})
			got := "-"
			if err == nil {
				got = postingsOf(decided.Event.Entry)
			}
			if got != want {
				t.Errorf("%s, %s: %s (%v), want %s", c.name, action, got, err, want)
			}
			if err == nil && (action != Wait) != (decided.Difference.State != Open) {
				t.Errorf("%s, %s: the state is %s", c.name, action, decided.Difference.State)
			}
		}
	}
}

func postingsOf(e *ledger.Entry) string {
	if e == nil {
		return "none"
	}
	var words []string
	for _, p := range e.Postings {
		side := map[ledger.Side]string{ledger.Debit: "Dr", ledger.Credit: "Cr"}[p.Side]
		words = append(words, fmt.Sprint(side, " ", p.Account, " ", p.Amount))
	}
	return strings.Join(words, " ")
}

func TestSettledDifferenceIsDecidedOnlyOnce(t *testing.T) {
	d := found(MissingHere, PaidOut, true)
	decided, err := d.Decide(Request{Decision: Transit, Note: "n"}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []Action{WriteOff, AcceptFee, Wait, Link, Transit} {
		if _, err := decided.Difference.Decide(Request{Decision: action, Note: "n", EntrySeq: map[Action]uint64{Link: 5}[action]}, Facts{}); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("%s after in_transit: %v", action, err)
		}
	}
	writtenOff, err := d.Decide(Request{Decision: WriteOff, Note: "n"}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []Action{WriteOff, AcceptFee, Wait, Link, Transit, Arrive} {
		if _, err := writtenOff.Difference.Decide(Request{Decision: action, Note: "n", EntrySeq: map[Action]uint64{Link: 5}[action]}, Facts{}); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("%s after write_off: %v", action, err)
		}
	}
	arrived, err := decided.Difference.Decide(Request{Decision: Arrive, Note: "n"}, Facts{})
	if err != nil || !slices.ContainsFunc(arrived.Event.Entry.Postings, func(p ledger.Posting) bool { return p.Account == ledger.Bank && p.Side == ledger.Debit }) {
		t.Errorf("%+v, %v", arrived, err)
	}
	if _, err := arrived.Difference.Decide(Request{Decision: Arrive, Note: "n"}, Facts{}); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("arrived twice: %v", err)
	}
}

func TestDecisionNamesTheWrongField(t *testing.T) {
	d := found(MissingHere, Charge, false)
	good := Linked{Entry: entry(7, 1000), IsOnAccount: true}
	with := func(change func(*Linked)) *Linked { l := good; change(&l); return &l }
	for name, c := range map[string]struct {
		request Request
		facts   Facts
		field   string
	}{
		"unknown decision":   {Request{Decision: "pay", Note: "n"}, Facts{}, "decision"},
		"matched by hand":    {Request{Decision: MatchLate, Note: "n"}, Facts{}, "decision"},
		"no note":            {Request{Decision: Wait, Note: " "}, Facts{}, "note"},
		"a long note":        {Request{Decision: Wait, Note: strings.Repeat("x", MaxNote+1)}, Facts{}, "note"},
		"an entry to wait":   {Request{Decision: Wait, Note: "n", EntrySeq: 7}, Facts{}, "entry_seq"},
		"link without entry": {Request{Decision: Link, Note: "n"}, Facts{}, "entry_seq"},
		"no such entry":      {Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{}, "entry_seq"},
		"another account":    {Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: with(func(l *Linked) { l.IsOnAccount = false })}, "entry_seq"},
		"another amount":     {Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: with(func(l *Linked) { l.Amount = money.FromUint64(999) })}, "entry_seq"},
		"another direction":  {Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: with(func(l *Linked) { l.Outgoing = true })}, "entry_seq"},
		"another asset":      {Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: with(func(l *Linked) { l.Asset = eur })}, "entry_seq"},
		"a decision's entry": {Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: with(func(l *Linked) { l.IsOwn = true })}, "entry_seq"},
	} {
		_, err := d.Decide(c.request, c.facts)
		refusal, ok := err.(*ledger.Refusal)
		if !ok || refusal.Code != ledger.Invalid || refusal.Field != c.field {
			t.Errorf("%s: %v, want field %s", name, err, c.field)
		}
	}
	if _, err := d.Decide(Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: with(func(l *Linked) { l.IsExplained = true })}); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("an explained entry: %v", err)
	}
	decided, err := d.Decide(Request{Decision: Link, Note: "n", EntrySeq: 7}, Facts{Linked: &good})
	if err != nil || !slices.Equal(decided.Explains, []uint64{7}) || decided.Event.Entry != nil {
		t.Errorf("%+v, %v", decided, err)
	}
}

// A fee up to the free part of a settlement's fee may be booked already.
func TestFeeThatASettlementMayHaveBookedIsNotAccepted(t *testing.T) {
	d := found(MissingHere, FeeCharge, true)
	for booked, want := range map[uint64]ledger.Code{0: "", 999: "", 1000: ledger.Conflict, 1001: ledger.Conflict} {
		if _, err := d.Decide(Request{Decision: AcceptFee, Note: "n"}, Facts{BookedFee: money.FromUint64(booked)}); ledger.CodeOf(err) != want {
			t.Errorf("%d booked: %v, want %q", booked, err, want)
		}
	}
}
