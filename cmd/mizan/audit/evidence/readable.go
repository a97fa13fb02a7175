package evidence

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"mizan/ledger"
)

// readable is the readable form of an event in a proof's file.
type readable struct {
	Kind     string         `json:"kind"` // the letter of ledger.Kind
	Source   string         `json:"source"`
	Version  uint64         `json:"version"`
	Previous uint64         `json:"previous"`
	Name     string         `json:"event"`
	From     string         `json:"from"`
	To       string         `json:"to"`
	BookedAt string         `json:"booked_at"`
	Entry    *readableEntry `json:"entry,omitempty"`
	Record   string         `json:"record_sha256,omitempty"`
	Notices  string         `json:"notifications_sha256,omitempty"`
	Claims   []string       `json:"claims_sha256,omitempty"`
}

type readableEntry struct {
	Phase     string            `json:"phase"`
	Effective string            `json:"effective_date"`
	Reverses  uint64            `json:"reverses"`
	Closes    uint64            `json:"closes"`
	Postings  []readablePosting `json:"postings"`
}

type readablePosting struct {
	Account  string `json:"account"`
	Side     string `json:"side"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Network  string `json:"network"`
	Env      string `json:"env"`
}

// instant is the layout of times, which are UTC.
const instant = "2006-01-02T15:04:05.000000Z07:00"

func newReadable(e *ledger.Event) *readable {
	r := &readable{
		Kind: string(rune(e.Source.Kind)), Source: e.Source.ID.String(), Version: e.Version, Previous: e.Previous,
		Name: e.Name, From: e.From, To: e.To, BookedAt: e.Booked.Time().Format(instant),
	}
	r.Record, r.Notices = hexText(e.Stored.Record), hexText(e.Stored.Notices)
	for _, hash := range e.Stored.Claims {
		r.Claims = append(r.Claims, hexText(hash))
	}
	if e.Entry == nil {
		return r
	}
	r.Entry = &readableEntry{
		Phase: e.Entry.Phase.String(), Effective: e.Entry.Effective.Time().Format(time.DateOnly),
		Reverses: e.Entry.Reverses, Closes: e.Entry.Closes, Postings: []readablePosting{},
	}
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		r.Entry.Postings = append(r.Entry.Postings, readablePosting{
			Account: string(p.Account), Side: p.Side.String(), Amount: p.Amount.String(),
			Currency: string(p.Asset.Currency), Network: string(p.Asset.Network), Env: p.Asset.Env.String(),
		})
	}
	return r
}

// hexText returns a hash in hexadecimal, as sha256sum prints it; empty for the zero hash.
func hexText(h ledger.Hash) string {
	if h == (ledger.Hash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// kinds maps the letters of ledger.Kind to words.
var kinds = map[ledger.Kind]string{
	ledger.Transaction: "transaction", ledger.Platform: "platform", ledger.Organization: "organization", ledger.Partner: "partner",
	ledger.Terminal: "terminal", ledger.APIKey: "API key", ledger.Session: "session", ledger.User: "user",
	ledger.Settlement: "settlement", ledger.Limit: "limit", ledger.Block: "blocklist entry", ledger.Rate: "rate",
	ledger.Answer: "answer to a write of the administration", ledger.Reply: "answer to a partner's request",
	ledger.Subscription: "subscription", ledger.Contract: "contract", ledger.Screening: "screening",
	ledger.Period: "closed month", ledger.Retention: "retention of deliveries", ledger.Transfer: "transfer",
	ledger.Link: "payment link", ledger.Product: "product", ledger.Image: "image",
}

// Describe writes for people what is proven and what is not, from the canonical bytes and
// the signed head only.
func (p *Proof) Describe(w io.Writer) error {
	r := newReadable(&p.Event)
	kind, known := kinds[p.Event.Source.Kind]
	if !known {
		kind = fmt.Sprintf("record of kind %q", p.Event.Source.Kind)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Proven: this is event %d of the journal of organization %s.\n\n", p.Event.Seq, p.Head.Organization)
	fmt.Fprintf(&text, "  happened to  %s %s, which is in version %d by it\n", kind, r.Source, r.Version)
	if r.Previous != 0 {
		fmt.Fprintf(&text, "  follows      event %d of the same record\n", r.Previous)
	}
	from := printable(r.From)
	if from == "" {
		from = "(created)"
	}
	fmt.Fprintf(&text, "  event        %s: %s → %s\n", printable(r.Name), from, printable(r.To))
	fmt.Fprintf(&text, "  booked at    %s\n", r.BookedAt)
	if r.Entry != nil {
		describeEntry(&text, r.Entry)
	}
	if r.Record != "" {
		fmt.Fprintf(&text, "  stored       the record's bytes have the SHA-256\n    %s\n", r.Record)
	}
	if r.Notices != "" {
		fmt.Fprintf(&text, "  notified     the notifications about it have the SHA-256\n    %s\n", r.Notices)
	}
	for _, hash := range r.Claims {
		fmt.Fprintf(&text, "  claimed      a key whose claim has the SHA-256\n    %s\n", hash)
	}
	fmt.Fprintf(&text, "\nThe journal is the one whose first %d events have the root\n  %v\nand that is what was signed with the key:\n\n", p.Head.Tree.N, p.Head.Tree.Hash)
	for line := range strings.Lines(string(p.Head.Signed)) {
		text.WriteString("  " + line)
	}
	text.WriteString("\nNot proven: when it was signed, that all that happened was booked, and that nobody was\nshown another journal. `mizan audit watch` is for the last.\n")
	_, err := io.WriteString(w, text.String())
	return err
}

func describeEntry(b *strings.Builder, e *readableEntry) {
	fmt.Fprintf(b, "  moves money  phase %s, effective %s", e.Phase, e.Effective)
	if e.Reverses != 0 {
		fmt.Fprintf(b, ", reverses event %d", e.Reverses)
	}
	if e.Closes != 0 {
		fmt.Fprintf(b, ", closes event %d", e.Closes)
	}
	b.WriteByte('\n')
	for i := range e.Postings {
		p := &e.Postings[i]
		asset := printable(p.Currency)
		if p.Network != "" {
			asset += " on " + printable(p.Network)
		}
		fmt.Fprintf(b, "    %-6s  %s  %s minor units of %s, %s\n", p.Side, printable(p.Account), p.Amount, asset, p.Env)
	}
}

// printable returns text without control characters, which could move a terminal's cursor: the
// key's owner signs the text but is not trusted with the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
