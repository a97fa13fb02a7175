package reconciliation

import (
	"slices"
	"unicode/utf8"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Request is a request to decide on a difference.
type Request struct {
	Decision Action
	EntrySeq uint64 // the entry that Link names; 0 if none
	Note     string
}

// Linked is the entry that a decision to link names, as the store has it.
type Linked struct {
	Entry
	IsOnAccount   bool         // the entry has a line on the provider's account of the terminal
	IsExplained   bool         // a line or a decision explains the entry already
	IsOwn         bool         // a decision of reconciliation has posted the entry
	SettlementFee money.Amount // the fee that the entry booked, if it is a settlement with the provider
}

// Facts are what a decision depends on besides the difference.
type Facts struct {
	Now    ledger.Micros
	Linked *Linked // nil if the request names no entry, or one that does not exist

	// BookedFee is the largest fee of a settlement with the provider, on or after the line's day, that fees linked so far leave
	// free. A fee up to this amount may be booked already.
	BookedFee money.Amount
}

// Decided is the result of a decision.
type Decided struct {
	Difference *FoundDifference
	Event      ledger.Event
	Explains   []uint64              // entries that the decision explains and that must not be explained otherwise
	Counters   []ledger.CounterGuard // guards of the Change besides those of the postings
}

// Decide checks a decision and returns the next version of the difference and its event with the posting. The error is a
// *ledger.Refusal: Invalid with the field, or Conflict if the difference is settled already.
func (d *FoundDifference) Decide(r Request, facts Facts) (*Decided, error) {
	const op = "reconciliation.Decide"
	switch n := utf8.RuneCountInString(r.Note); {
	case !IsDecision(r.Decision):
		return nil, ledger.RefuseField(op, "decision", "must be %s", schema.JoinWords(Decisions, "or"))
	case schema.IsBlank(r.Note):
		return nil, ledger.RefuseField(op, "note", "is required")
	case n > MaxNote:
		return nil, ledger.RefuseField(op, "note", "is longer than %d characters", MaxNote)
	case r.EntrySeq != 0 && r.Decision != Link:
		return nil, ledger.RefuseField(op, "entry_seq", "belongs to link only")
	}
	step, ok := differenceMachine.Next(d.State, r.Decision)
	if !ok {
		if r.Decision == Arrive && d.State == Open {
			return nil, ledger.Refuse(op, ledger.Conflict, "the money is not in transit: decide in_transit first")
		}
		return nil, ledger.Refuse(op, ledger.Conflict, "the difference was settled already")
	}
	next := *d
	next.State, next.Decision, next.Note, next.DecidedAt = step.To, string(r.Decision), r.Note, facts.Now
	out := &Decided{Difference: &next, Event: event(ledger.Difference, d.ID, d.State, r.Decision, step.To)}
	var err error
	switch r.Decision {
	case Link:
		next.LinkedSeq = r.EntrySeq
		err = d.link(r, facts, out)
	case WriteOff:
		err = d.post(out, writeOff)
	case AcceptFee:
		if err = d.checkFee(facts); err == nil {
			err = d.post(out, acceptFee)
		}
	case Transit:
		if d.Kind != MissingHere.String() || d.LineKind != PaidOut.String() {
			err = ledger.RefuseField(op, "decision", "in_transit is for a payout of the provider that is missing here")
		} else {
			err = d.post(out, inTransit)
		}
	case Arrive:
		err = d.post(out, arrived)
	}
	if err != nil {
		return nil, err
	}
	if d.State == Open && step.To != Open {
		out.Counters = append(out.Counters, UncountOpen(d))
		if d.Kind == MissingThere.String() {
			out.Explains = append(out.Explains, d.EntrySeq)
		}
	}
	return out, nil
}

// Matched returns the next version of a difference of kind missing_there whose entry was found, and its event.
func (d *FoundDifference) Matched(now ledger.Micros) (*FoundDifference, ledger.Event) {
	next := *d
	next.State, next.Decision, next.DecidedAt = Settled, string(MatchLate), now
	return &next, event(ledger.Difference, d.ID, d.State, MatchLate, Settled)
}

// Correction is the change of the provider's account in one asset that makes it agree with the report.
type Correction struct {
	Asset  money.Asset
	Amount money.Signed // negative: a shortfall, the account is lowered
}

// Corrections returns the changes of the provider's account that a difference needs, without those that are zero. A line's amount
// counts without its fee, which settlements book, unless the line has no amount. A difference of kind date or duplicate needs none. The error says that an amount overflows.
func (d *FoundDifference) Corrections() (list []Correction, err error) {
	switch d.Kind {
	case DateDiffers.String(), Duplicate.String():
		return nil, nil
	}
	switch {
	case d.LineAmount == nil:
	case d.LineAmount.IsZero() && d.LineFee != nil: // the fee is all that the line is about
		list = append(list, Correction{d.LineAsset, d.LineFee.Neg()})
	default:
		list = append(list, Correction{d.LineAsset, *d.LineAmount})
	}
	if d.EntryAmount != nil {
		i := slices.IndexFunc(list, func(c Correction) bool { return c.Asset == d.EntryAsset })
		if i < 0 {
			list = append(list, Correction{d.EntryAsset, d.EntryAmount.Neg()})
		} else if list[i].Amount, err = list[i].Amount.Add(d.EntryAmount.Neg()); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(c Correction) bool { return c.Amount.IsZero() }), nil
}

// template returns the postings of a decision for one correction; nil if it does not apply to it.
type template func(terminal ledger.ID, c Correction) []ledger.Posting

// post sets the entry of a decision.
func (d *FoundDifference) post(out *Decided, postings template) error {
	const op = "reconciliation.Decide"
	corrections, err := d.Corrections()
	if err != nil {
		return ledger.RefuseField(op, "decision", "the amount is out of range")
	}
	if len(corrections) == 0 {
		return ledger.RefuseField(op, "decision", "no money differs, so nothing can be posted")
	}
	entry := &ledger.Entry{Phase: ledger.Posted}
	for _, c := range corrections {
		p := postings(d.Terminal, c)
		if p == nil {
			return ledger.RefuseField(op, "decision", "is for a shortfall at the provider")
		}
		entry.Postings = append(entry.Postings, p...)
		out.Counters = append(out.Counters, ledger.ReserveHeadroom(d.Org, c.Asset, c.Amount.Abs))
	}
	assert.NoError(entry.Check())
	out.Event.Entry = entry
	return nil
}

// pair returns the postings of one amount from one account to another.
func pair(debit, credit ledger.Path, c Correction) []ledger.Posting {
	return []ledger.Posting{
		{Account: debit, Asset: c.Asset, Side: ledger.Debit, Amount: c.Amount.Abs},
		{Account: credit, Asset: c.Asset, Side: ledger.Credit, Amount: c.Amount.Abs},
	}
}

// writeOff is the template of a decision to write off: a shortfall is an expense, a surplus stays owed to an unknown owner.
func writeOff(terminal ledger.ID, c Correction) []ledger.Posting {
	if c.Amount.Negative {
		return pair(ledger.WriteOffs, ledger.ProviderReceivable(terminal), c)
	}
	return pair(ledger.ProviderReceivable(terminal), ledger.Unidentified(terminal), c)
}

// acceptFee is the template of a decision that a shortfall is the provider's fee.
func acceptFee(terminal ledger.ID, c Correction) []ledger.Posting {
	if !c.Amount.Negative {
		return nil
	}
	return pair(ledger.ProviderFees, ledger.ProviderReceivable(terminal), c)
}

// inTransit is the template for money that the provider has paid out and that is not yet at the bank.
func inTransit(terminal ledger.ID, c Correction) []ledger.Posting {
	if !c.Amount.Negative {
		return nil
	}
	return pair(ledger.InTransit(terminal), ledger.ProviderReceivable(terminal), c)
}

// arrived is the template for such money when it has arrived at the bank.
func arrived(terminal ledger.ID, c Correction) []ledger.Posting {
	if !c.Amount.Negative {
		return nil
	}
	return pair(ledger.Bank, ledger.InTransit(terminal), c)
}

// checkFee refuses a decision to accept a fee that is none, or that a settlement may have booked already.
func (d *FoundDifference) checkFee(facts Facts) error {
	const op = "reconciliation.Decide"
	isFee := d.Kind == MissingHere.String() && d.LineKind == FeeCharge.String() || d.Kind == AmountDiffers.String()
	if !isFee {
		return ledger.RefuseField(op, "decision", "accept_fee is for a line of kind fee, or for an amount that lacks a fee")
	}
	corrections, err := d.Corrections()
	if err != nil {
		return ledger.RefuseField(op, "decision", "the amount is out of range")
	}
	if len(corrections) == 1 && !facts.BookedFee.Less(corrections[0].Amount.Abs) {
		return ledger.Refuse(op, ledger.Conflict, "a settlement with the provider has booked this fee, or a larger one: link it with that settlement's entry")
	}
	return nil
}

// link checks the entry that explains a difference.
func (d *FoundDifference) link(r Request, facts Facts, out *Decided) error {
	const op = "reconciliation.Decide"
	refuse := func(format string, args ...any) error { return ledger.RefuseField(op, "entry_seq", format, args...) }
	if d.Kind == Duplicate.String() && r.EntrySeq == 0 {
		return nil // the line is a copy: its first occurrence is already explained
	}
	if r.EntrySeq == 0 {
		return refuse("is required")
	}
	e := facts.Linked
	switch {
	case e == nil || !e.IsOnAccount:
		return refuse("names no entry on the account of the terminal's provider")
	case d.Kind == Duplicate.String():
		return nil
	case d.Kind == DateDiffers.String() || d.Kind == Currency.String():
		if e.Seq != d.EntrySeq {
			return refuse("must be the entry that the line was matched with")
		}
		return nil
	case e.IsOwn:
		return refuse("names an entry of another decision")
	}
	corrections, err := d.Corrections()
	if err != nil || len(corrections) != 1 {
		return refuse("can't explain a difference of several assets")
	}
	want := corrections[0]
	if d.LineKind == FeeCharge.String() && d.Kind == MissingHere.String() && want.Amount.Negative && !e.SettlementFee.IsZero() && e.Asset == want.Asset {
		if e.SettlementFee.Less(want.Amount.Abs) {
			return refuse("names a settlement with a lower fee")
		}
		out.Counters = append(out.Counters, LinkFee(d.Org, e.Seq, want.Amount.Abs, e.SettlementFee))
		return nil
	}
	switch {
	case e.Asset != want.Asset || e.Signed() != want.Amount && (e.OtherAmount.IsZero() || signed(e.OtherAmount, e.Outgoing) != want.Amount):
		return refuse("names an entry of another amount or direction than what is missing")
	case e.IsExplained:
		return ledger.Refuse(op, ledger.Conflict, "the entry is explained already")
	}
	out.Explains = append(out.Explains, e.Seq)
	return nil
}
