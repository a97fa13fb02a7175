package api

import (
	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// balances are the posted balances after an entry of the accounts that it
// posts to, one for each posting; shown says which postings the caller sees.
type balances struct {
	after []money.Signed
	shown []bool
}

// newBalances finds them in the accounts' own lines; nil for an event without
// an entry.
func newBalances(view *posting.View, who *auth.Principal, e *ledger.Event) (*balances, error) {
	if e.Entry == nil {
		return nil, nil
	}
	b := &balances{after: make([]money.Signed, len(e.Entry.Postings)), shown: make([]bool, len(e.Entry.Postings))}
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		if b.shown[i] = who.Sees(p.Account); !b.shown[i] {
			continue
		}
		account := ledger.Account{Path: p.Account, Asset: p.Asset}
		err := view.LinesUntil(who.Org, account, e.Booked, 0, func(l posting.Line) (bool, error) {
			if l.Seq == e.Seq && l.Index == i {
				b.after[i] = l.Totals.Balance(p.Account.NormalSide())
			}
			return l.Seq == e.Seq && l.Index > i, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendEntry writes an event's entry as the list of entries has it.
func appendEntry(out *encoder, e *ledger.Event, b *balances) {
	out.integer("seq", int64(e.Seq))
	out.id("source", e.Source.ID)
	out.text("event", e.Name)
	out.word("phase", e.Entry.Phase.String())
	out.instant("booked_at", e.Booked)
	appendMovement(out, e.Entry, b)
}

// appendMovement writes what entries and events have in common.
func appendMovement(out *encoder, entry *ledger.Entry, b *balances) {
	out.word("effective_date", entry.Effective.String())
	if entry.Reverses == 0 {
		out.null("reverses")
	} else {
		out.integer("reverses", int64(entry.Reverses))
	}
	if entry.Closes != 0 {
		out.integer("closes", int64(entry.Closes))
	}
	out.enter("postings", '[')
	for i := range entry.Postings {
		if !b.shown[i] {
			continue
		}
		p := &entry.Postings[i]
		out.open('{')
		out.text("account", string(p.Account))
		out.word("side", p.Side.String())
		out.amount("amount", p.Amount)
		out.asset("asset", p.Asset)
		out.signed("balance", b.after[i])
		out.close('}')
	}
	out.close(']')
}

// appendEvent writes one transition; its entry, if it has one, is inside it.
func appendEvent(out *encoder, e *ledger.Event, b *balances) {
	out.integer("seq", int64(e.Seq))
	out.id("source", e.Source.ID)
	out.integer("version", int64(e.Version))
	out.text("event", e.Name)
	out.textOrNull("from", e.From)
	out.textOrNull("to", e.To)
	out.instant("booked_at", e.Booked)
	if e.Entry != nil {
		out.enter("entry", '{')
		out.word("phase", e.Entry.Phase.String())
		appendMovement(out, e.Entry, b)
		out.close('}')
	}
}
