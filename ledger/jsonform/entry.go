package jsonform

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Balances are the posted balances, after an entry, of the accounts to which it posts, one for
// each posting. Shown tells which postings the caller sees.
type Balances struct {
	After []money.Signed
	Shown []bool
}

// AppendEntry appends the fields of an event's entry.
func AppendEntry(out *schema.Encoder, e *ledger.Event, b *Balances) {
	out.Integer("seq", int64(e.Seq))
	out.ID("source", e.Source.ID)
	out.Text("event", e.Name)
	out.Word("phase", e.Entry.Phase.String())
	out.Instant("booked_at", e.Booked)
	appendMovement(out, e.Entry, b)
}

// appendMovement writes the fields that entries and events share.
func appendMovement(out *schema.Encoder, entry *ledger.Entry, b *Balances) {
	out.Word("effective_date", entry.Effective.String())
	if entry.Reverses == 0 {
		out.Null("reverses")
	} else {
		out.Integer("reverses", int64(entry.Reverses))
	}
	if entry.Closes != 0 {
		out.Integer("closes", int64(entry.Closes))
	}
	out.OpenField("postings", '[')
	for i := range entry.Postings {
		if !b.Shown[i] {
			continue
		}
		p := &entry.Postings[i]
		out.Open('{')
		out.Text("account", string(p.Account))
		out.Word("side", p.Side.String())
		out.Amount("amount", p.Amount)
		out.Asset("asset", p.Asset)
		out.Signed("balance", b.After[i])
		out.Close('}')
	}
	out.Close(']')
}

// AppendEvent appends the fields of one event, with its entry inside if it has one.
func AppendEvent(out *schema.Encoder, e *ledger.Event, b *Balances) {
	out.Integer("seq", int64(e.Seq))
	out.ID("source", e.Source.ID)
	out.Integer("version", int64(e.Version))
	out.Text("event", e.Name)
	out.TextOrNull("from", e.From)
	out.TextOrNull("to", e.To)
	out.Instant("booked_at", e.Booked)
	if e.Entry != nil {
		out.OpenField("entry", '{')
		out.Word("phase", e.Entry.Phase.String())
		appendMovement(out, e.Entry, b)
		out.Close('}')
	}
}
