package journal

import (
	"mizan/api/auth"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// Balances are the posted balances, after an entry, of the accounts to which it posts, one for
// each posting. shown tells which postings the caller sees.
type Balances struct {
	after []money.Signed
	shown []bool
}

// NewBalances reads the balances of each event from the accounts' lines; nil for an event
// without an entry.
func NewBalances(view *posting.View, who *auth.Principal, events []ledger.Event) ([]*Balances, error) {
	after, err := view.TotalsAfter(who.Org, events, who.Sees)
	if err != nil {
		return nil, err
	}
	all := make([]*Balances, len(events))
	for n := range events {
		entry := events[n].Entry
		if entry == nil {
			continue
		}
		b := &Balances{after: make([]money.Signed, len(entry.Postings)), shown: make([]bool, len(entry.Postings))}
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

// AppendEntry writes an event's entry in the form of the list of entries.
func AppendEntry(out *web.Encoder, e *ledger.Event, b *Balances) {
	out.Integer("seq", int64(e.Seq))
	out.ID("source", e.Source.ID)
	out.Text("event", e.Name)
	out.Word("phase", e.Entry.Phase.String())
	out.Instant("booked_at", e.Booked)
	appendMovement(out, e.Entry, b)
}

// appendMovement writes the fields that entries and events share.
func appendMovement(out *web.Encoder, entry *ledger.Entry, b *Balances) {
	out.Word("effective_date", entry.Effective.String())
	if entry.Reverses == 0 {
		out.Null("reverses")
	} else {
		out.Integer("reverses", int64(entry.Reverses))
	}
	if entry.Closes != 0 {
		out.Integer("closes", int64(entry.Closes))
	}
	out.Enter("postings", '[')
	for i := range entry.Postings {
		if !b.shown[i] {
			continue
		}
		p := &entry.Postings[i]
		out.Open('{')
		out.Text("account", string(p.Account))
		out.Word("side", p.Side.String())
		out.Amount("amount", p.Amount)
		out.Asset("asset", p.Asset)
		out.Signed("balance", b.after[i])
		out.Close('}')
	}
	out.Close(']')
}

// AppendEvent writes one event, with its entry inside if it has one.
func AppendEvent(out *web.Encoder, e *ledger.Event, b *Balances) {
	out.Integer("seq", int64(e.Seq))
	out.ID("source", e.Source.ID)
	out.Integer("version", int64(e.Version))
	out.Text("event", e.Name)
	out.TextOrNull("from", e.From)
	out.TextOrNull("to", e.To)
	out.Instant("booked_at", e.Booked)
	if e.Entry != nil {
		out.Enter("entry", '{')
		out.Word("phase", e.Entry.Phase.String())
		appendMovement(out, e.Entry, b)
		out.Close('}')
	}
}
