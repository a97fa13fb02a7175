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

// readableEvent is the part of a proof file that describes the event in a form that people can read.
type readableEvent struct {
	Kind     string         `json:"kind"` // letter of the ledger.Kind of the event's record
	Source   string         `json:"source"`
	Author   string         `json:"author"`                      // kind of the author, such as an API key
	AuthorAt uint64         `json:"author_created_by,omitempty"` // the event that created the author's key, user or partner
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

// timeLayout is the layout in which times are written. All times are in UTC.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

func newReadableEvent(e *ledger.Event) *readableEvent {
	readable := &readableEvent{
		Kind: string(rune(e.Source.Kind)), Source: e.Source.ID.String(), Version: e.Version, Previous: e.Previous,
		Name: e.Name, From: e.From, To: e.To, BookedAt: e.Booked.Time().Format(timeLayout),
	}
	readable.Author, readable.AuthorAt = e.Author.Kind.String(), e.Author.Seq
	readable.Record, readable.Notices = hexText(e.StoredHashes.Record), hexText(e.StoredHashes.Notices)
	for _, hash := range e.StoredHashes.Claims {
		readable.Claims = append(readable.Claims, hexText(hash))
	}
	if e.Entry == nil {
		return readable
	}
	readable.Entry = &readableEntry{
		Phase: e.Entry.Phase.String(), Effective: e.Entry.Effective.Time().Format(time.DateOnly),
		Reverses: e.Entry.Reverses, Closes: e.Entry.Closes, Postings: []readablePosting{},
	}
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		readable.Entry.Postings = append(readable.Entry.Postings, readablePosting{
			Account: string(p.Account), Side: p.Side.String(), Amount: p.Amount.String(),
			Currency: string(p.Asset.Currency), Network: string(p.Asset.Network), Env: p.Asset.Env.String(),
		})
	}
	return readable
}

// hexText returns a hash in the hexadecimal form that sha256sum prints. If the hash is zero, it returns an empty text.
func hexText(h ledger.Hash) string {
	if h == (ledger.Hash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// kindNames maps the letters of ledger.Kind to words.
var kindNames = map[ledger.Kind]string{
	ledger.Transaction: "transaction", ledger.Platform: "platform", ledger.Organization: "organization", ledger.Partner: "partner",
	ledger.Terminal: "terminal", ledger.APIKey: "API key", ledger.Session: "session", ledger.User: "user",
	ledger.Settlement: "settlement", ledger.Limit: "limit", ledger.Block: "blocklist entry", ledger.Rate: "rate",
	ledger.AdminReply: "answer to a write of the administration", ledger.Reply: "answer to a partner's request",
	ledger.Subscription: "subscription", ledger.Contract: "contract", ledger.Screening: "screening",
	ledger.Period: "closed month", ledger.Retention: "retention of deliveries", ledger.Transfer: "transfer",
	ledger.Link: "payment link", ledger.Product: "product", ledger.Image: "image",
}

// authorTexts maps the kinds of authors to words.
var authorTexts = map[ledger.AuthorKind]string{
	ledger.ByAdminToken: "an operator with the administration token", ledger.ByAPIKey: "the API key", ledger.BySession: "the person",
	ledger.ByPayer: "the payer", ledger.ByProvider: "the provider", ledger.BySystem: "the service itself",
}

// authorText describes in words who caused an event.
func authorText(a ledger.Author) string {
	if a.Seq == 0 {
		return authorTexts[a.Kind]
	}
	return fmt.Sprintf("%s whose record event %d created", authorTexts[a.Kind], a.Seq)
}

// Describe writes a text that says which facts are proven and which are not. It uses only the event's canonical bytes and the
// signed head.
func (p *Proof) Describe(w io.Writer) error {
	event := newReadableEvent(&p.Event)
	kind, known := kindNames[p.Event.Source.Kind]
	if !known {
		kind = fmt.Sprintf("record of kind %q", p.Event.Source.Kind)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Proven: this is event %d of the journal of organization %s.\n\n", p.Event.Seq, p.Head.Organization)
	fmt.Fprintf(&text, "  happened to  %s %s, which is at version %d after it\n", kind, event.Source, event.Version)
	if event.Previous != 0 {
		fmt.Fprintf(&text, "  follows      event %d of the same record\n", event.Previous)
	}
	from := printable(event.From)
	if from == "" {
		from = "(created)"
	}
	fmt.Fprintf(&text, "  event        %s: %s → %s\n", printable(event.Name), from, printable(event.To))
	fmt.Fprintf(&text, "  booked at    %s\n", event.BookedAt)
	fmt.Fprintf(&text, "  asked for by %s\n", authorText(p.Event.Author))
	if event.Entry != nil {
		describeEntry(&text, event.Entry)
	}
	if event.Record != "" {
		fmt.Fprintf(&text, "  stored       the record's bytes have the SHA-256\n    %s\n", event.Record)
	}
	if event.Notices != "" {
		fmt.Fprintf(&text, "  notified     the notifications about it have the SHA-256\n    %s\n", event.Notices)
	}
	for _, hash := range event.Claims {
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

// printable replaces the control characters of a text, because they could move the cursor of the auditor's terminal. The text
// is signed by the server's operator, whom the auditor does not trust.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
