package jsonform

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Balances contains data about the postings of an entry. Both lists have one element for each posting. After is the posted
// balance of the posting's account after the entry. Shown tells whether the client may see the posting.
type Balances struct {
	After []money.Signed
	Shown []bool
}

// AppendEntry appends the fields of an event's entry.
func AppendEntry(out *schema.Encoder, event *ledger.Event, balances *Balances) {
	out.Integer("seq", int64(event.Seq))
	out.Word("kind", event.Source.Kind.Word())
	out.ID("source", event.Source.ID)
	out.Text("event", event.Name)
	out.Word("phase", event.Entry.Phase.String())
	out.Instant("booked_at", event.Booked)
	appendSharedFields(out, event.Entry, balances)
}

// appendSharedFields writes those fields of an entry that both AppendEntry and AppendEvent write.
func appendSharedFields(out *schema.Encoder, entry *ledger.Entry, balances *Balances) {
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
		if !balances.Shown[i] {
			continue
		}
		posting := &entry.Postings[i]
		out.Open('{')
		out.Text("account", string(posting.Account))
		out.Word("side", posting.Side.String())
		out.Amount("amount", posting.Amount)
		out.Asset("asset", posting.Asset)
		out.Signed("balance", balances.After[i])
		out.Close('}')
	}
	out.Close(']')
}

// Author is the author of an event, as responses show the author.
type Author struct {
	Kind ledger.AuthorKind
	ID   string // id of the key, user or partner; empty if there is none or the client may not see it
	Name string // name or login at the time of the response; empty if there is none or the client may not see it
}

func (a *Author) append(out *schema.Encoder) {
	out.OpenField("author", '{')
	out.Word("kind", a.Kind.String())
	if a.ID != "" {
		out.Text("id", a.ID)
	}
	if a.Name != "" {
		out.Text("name", a.Name)
	}
	out.Close('}')
}

// AppendEvent appends the fields of one event. If the event has an entry, the field entry contains it.
func AppendEvent(out *schema.Encoder, event *ledger.Event, author *Author, balances *Balances) {
	out.Integer("seq", int64(event.Seq))
	author.append(out)
	out.Word("kind", event.Source.Kind.Word())
	out.ID("source", event.Source.ID)
	out.Integer("version", int64(event.Version))
	out.Text("event", event.Name)
	out.TextOrNull("from", event.From)
	out.TextOrNull("to", event.To)
	out.Instant("booked_at", event.Booked)
	if event.Entry != nil {
		out.OpenField("entry", '{')
		out.Word("phase", event.Entry.Phase.String())
		appendSharedFields(out, event.Entry, balances)
		out.Close('}')
	}
}
