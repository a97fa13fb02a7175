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

// newBalances finds them in the accounts' own lines, for each event; nil for one
// without an entry.
func newBalances(view *posting.View, who *auth.Principal, events []ledger.Event) ([]*balances, error) {
	after, err := view.TotalsAfter(who.Org, events, who.Sees)
	if err != nil {
		return nil, err
	}
	all := make([]*balances, len(events))
	for n := range events {
		entry := events[n].Entry
		if entry == nil {
			continue
		}
		b := &balances{after: make([]money.Signed, len(entry.Postings)), shown: make([]bool, len(entry.Postings))}
		for i := range entry.Postings {
			path := entry.Postings[i].Account
			if b.shown[i] = who.Sees(path); b.shown[i] {
				b.after[i] = after[n][i].Balance(path.NormalSide())
			}
		}
		all[n] = b
	}
	return all, nil
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
