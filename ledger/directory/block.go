package directory

import (
	"log/slog"
	"net/netip"
	"strings"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// BlockKind is the kind of value that a blocklist entry blocks, such as a card or a country. The zero value is invalid.
type BlockKind string

// The kinds of blocklist entries, in the order in which a payer is checked against them.
const (
	BlockBIN     BlockKind = "bin" // first digits of a card number, which identify the card's bank
	BlockCard    BlockKind = "card"
	BlockEmail   BlockKind = "email"
	BlockPhone   BlockKind = "phone"
	BlockIP      BlockKind = "ip"
	BlockCountry BlockKind = "country"
)

// BlockKinds lists all kinds in the order in which a payer is checked.
var BlockKinds = [...]BlockKind{BlockBIN, BlockCard, BlockEmail, BlockPhone, BlockIP, BlockCountry}

// Bounds of a blocklist.
const (
	MaxBlocks   = 1_000_000 // largest number of active entries of one organization
	MaxPrefixes = 1_000     // largest number of address ranges among them, because each payment is compared with all ranges

	MinBIN, MaxBIN     = 6, 8  // length of a BIN in digits
	MinPhone, MaxPhone = 5, 15 // length of a telephone number in digits; E.164 allows at most 15

	// CardFingerprintLength is the length of a card's keyed fingerprint, in hexadecimal digits.
	CardFingerprintLength = 32
)

// IsValid tells whether k is one of the kinds.
func (k BlockKind) IsValid() bool {
	for _, known := range BlockKinds {
		if k == known {
			return true
		}
	}
	return false
}

// Block is an entry of an organization's blocklist. Each value has only one entry. Removing the value switches the entry
// off, and listing the value again switches it on.
type Block struct {
	ID        ledger.ID // computed by BlockID from the organization, the kind and the value
	Org       ledger.ID
	Kind      BlockKind
	Value     string // the normalised value; for a card its keyed fingerprint
	Masked    string // first six and last four digits of a card; empty for other kinds
	Active    bool   // the value is blocked
	CreatedAt ledger.Micros
	UpdatedAt ledger.Micros // when the value was last listed or removed
}

// Shown returns the value in the form that clients may see.
func (b *Block) Shown() string {
	if b.Kind == BlockCard {
		return b.Masked
	}
	return b.Value
}

// Prefix returns the address range of an entry of kind ip. A single address becomes a prefix of full length. For entries of
// other kinds, ok is false.
func (b *Block) Prefix() (prefix netip.Prefix, ok bool) {
	if b.Kind != BlockIP {
		return prefix, false
	}
	prefix, err := ParseSource(b.Value)
	return prefix, err == nil
}

// Blocks are the columns of blocklist entries. Data of payers are compared with the column "compared". The column "value"
// is only for display: for a card it contains the first six and last four digits.
var Blocks = schema.NewType[Block]("blocklist entry",
	columns.IDColumn(func(b *Block) *ledger.ID { return &b.ID }),
	schema.TextField(schema.Word(1, "kind", blockKindNames(), schema.Required, schema.Fixed,
		schema.Help("kind of the value")), func(b *Block) *BlockKind { return &b.Kind }),
	schema.ComputedField(schema.Text(0, "value", schema.ReadOnlyFixed, schema.NotNull,
		schema.Help("value that is refused; for a card, only its first six and last four digits are shown")), func(b *Block) (string, bool) { return b.Shown(), true }),
	schema.Field(schema.Bool(2, "active", schema.NotNull,
		schema.Help("whether the value is refused")), func(b *Block) *bool { return &b.Active }),
	columns.CreatedColumn(func(b *Block) *ledger.Micros { return &b.CreatedAt }),
	columns.UpdatedColumn(func(b *Block) *ledger.Micros { return &b.UpdatedAt }),
	schema.Field(schema.Text(3, "compared", schema.NotShown, schema.RequiredInStore), func(b *Block) *string { return &b.Value }),
	schema.Field(schema.Text(4, "masked", schema.NotShown), func(b *Block) *string { return &b.Masked }),
).Invariant(func(b *Block) string {
	_, isRange := b.Prefix()
	switch {
	case !b.Kind.IsValid():
		return "is of an unknown kind"
	case b.Kind == BlockIP && !isRange:
		return "is no address"
	case b.ID != BlockID(b.Org, b.Kind, b.Value):
		return "lies in another value's place"
	}
	return ""
}).WithRowMetadata(func(b *Block, metadata schema.RowMetadata) {
	b.Org, b.ID, b.CreatedAt, b.UpdatedAt = metadata.Org, metadata.ID, metadata.CreatedAt, metadata.UpdatedAt
})

func blockKindNames() (names []string) {
	for _, kind := range BlockKinds {
		names = append(names, string(kind))
	}
	return names
}

// LogValue implements slog.LogValuer.
func (b *Block) LogValue() slog.Value { return slog.StringValue(b.ID.String()) }

// BlockID derives the id of a blocklist entry from the entry's normalised value. Equal arguments give the same id, so an
// organization has only one entry for each value, and the store needs no unique key to ensure this.
func BlockID(org ledger.ID, kind BlockKind, value string) ledger.ID {
	return ledger.DerivedID(org, "block|"+string(kind)+"|"+value)
}

// BlockDraft is a request to put a value on the blocklist. Value is the value as written in the request, except for a card.
// Card numbers never reach this package, so for a card Value is the keyed fingerprint of a valid card number, and Masked
// contains the digits that may be shown.
type BlockDraft struct {
	Kind   BlockKind
	Value  string
	Masked string
}

// NewBlock returns a new blocklist entry and the event of its creation. If the draft is invalid, the error is a
// *ledger.Refusal.
func NewBlock(org ledger.ID, draft BlockDraft) (*Block, ledger.Event, error) {
	const op = "directory.CreateBlock"
	value, err := draft.normalized(op)
	if err != nil {
		return nil, ledger.Event{}, err
	}
	b := &Block{ID: BlockID(org, draft.Kind, value), Org: org, Kind: draft.Kind, Value: value, Masked: draft.Masked, Active: true}
	return b, createdEvent(ledger.Block, b.ID, StateActive), nil
}

// SetActive returns a copy of the entry that is switched on or off, and the event of this change. If the entry already has
// the requested state, it returns the unchanged entry and an event without a name.
func (b *Block) SetActive(isActive bool) (*Block, ledger.Event) {
	if b.Active == isActive {
		return b, ledger.Event{}
	}
	next := *b
	next.Active = isActive
	return &next, laterEvent(ledger.Block, b.ID, switchAction(b.Active, isActive), stateOf(b.Active), stateOf(isActive))
}

// normalized returns the draft's value in the form in which it is compared and stored.
func (draft *BlockDraft) normalized(op string) (string, error) {
	const field = "value"
	refuse := func(detail string) (string, error) { return "", ledger.RefuseField(op, field, "%s", detail) }
	switch draft.Kind {
	case BlockBIN:
		if len(draft.Value) < MinBIN || len(draft.Value) > MaxBIN || !isDigits(draft.Value) || draft.Value[0] == '0' {
			return refuse("must be the first 6 to 8 digits of card numbers, which don't begin with 0")
		}
		return draft.Value, nil
	case BlockCard:
		if len(draft.Value) != CardFingerprintLength || !consistsOf(draft.Value, isHex) || draft.Masked == "" {
			return refuse("invalid cardnumber")
		}
		return draft.Value, nil
	case BlockEmail:
		address := NormalEmail(draft.Value)
		if address == "" || checkEmail(op, field, address) != nil {
			return refuse("must be an e-mail address")
		}
		return address, nil
	case BlockPhone:
		number := NormalPhone(draft.Value)
		if len(number) < MinPhone || len(number) > MaxPhone || !consistsOf(draft.Value, isInPhoneNumber) {
			return refuse("must be a telephone number of 5 to 15 digits")
		}
		return number, nil
	case BlockIP:
		prefix, err := ParseSource(draft.Value)
		if err != nil {
			return refuse("must be an IP address or a CIDR prefix")
		}
		if prefix.IsSingleIP() {
			return prefix.Addr().String(), nil
		}
		return prefix.String(), nil
	case BlockCountry:
		country := NormalCountry(draft.Value)
		if !countries[country] {
			return refuse("must be the two letters of a country (ISO 3166-1)")
		}
		return country, nil
	}
	return "", ledger.RefuseField(op, "kind", "must be bin, card, email, phone, ip or country")
}

// consistsOf tells whether all characters of a text satisfy a condition.
func consistsOf(s string, satisfies func(rune) bool) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !satisfies(r) })
}

func isDigits(s string) bool { return consistsOf(s, isDigit) }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isHex(r rune) bool { return isDigit(r) || r >= 'a' && r <= 'f' }

// isInPhoneNumber tells whether a character may occur in a telephone number, as people write it.
func isInPhoneNumber(r rune) bool { return isDigit(r) || strings.ContainsRune("+-.() /", r) }
