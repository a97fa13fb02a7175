package reconciliation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// LineKind says what a line of a report is about. The values are stored, so they must not change. The zero value is invalid.
type LineKind uint8

// The kinds of lines.
const (
	Charge LineKind = iota + 1
	Refund
	Dispute
	FeeCharge  // a fee that the provider charges on a line of its own
	PaidOut    // the provider pays its debt to the institution's bank
	Adjustment // anything else
)

// lineKindWords has the names of the kinds in reports and in the API.
var lineKindWords = []string{Charge: "charge", Refund: "refund", Dispute: "dispute", FeeCharge: "fee", PaidOut: "payout", Adjustment: "adjustment"}

// LineKindWords returns the names of all kinds.
func LineKindWords() []string { return slices.Clone(lineKindWords[1:]) }

// String returns the kind's name in reports and in the API.
func (k LineKind) String() string {
	if k == 0 || int(k) >= len(lineKindWords) {
		return "invalid"
	}
	return lineKindWords[k]
}

// ParseLineKind returns the kind with the given name.
func ParseLineKind(word string) (LineKind, bool) {
	i := slices.Index(lineKindWords[1:], word)
	return LineKind(i + 1), i >= 0
}

// Bounds of a line.
const (
	MaxReferences = 6   // reference texts of a line
	MaxReference  = 200 // bytes of a reference text, and of the provider's id
)

// Line is a line of a settlement report: a movement of what the provider owes the institution.
type Line struct {
	ID         string       // the provider's own id of the line; empty if it has none
	Kind       LineKind     // what the line is about
	Outgoing   bool         // the line lowers what the provider owes, as a refund does
	Amount     money.Amount // before the fee, in minor units
	Fee        money.Signed // what the provider keeps for it besides; negative if the provider returns a fee
	Asset      money.Asset
	Date       ledger.Date
	References []string // texts by which the line may refer to a transaction or a settlement; none is empty
}

// Check returns what is wrong with a line, as the name of its field and a text, or empty texts. A reader of files calls it.
func (l *Line) Check() (field, problem string) {
	switch {
	case l.Kind == 0 || int(l.Kind) >= len(lineKindWords):
		return "kind", "is unknown"
	case l.Amount.IsZero() && l.Fee.IsZero():
		return "amount", "must not be zero"
	case ledger.MaxAmount.Less(l.Amount):
		return "amount", "is out of range"
	case ledger.MaxAmount.Less(l.Fee.Abs):
		return "fee", "is out of range"
	case l.Date < 1:
		return "date", "must be 1970-01-01 or later"
	case len(l.ID) > MaxReference:
		return "id", "is longer than " + strconv.Itoa(MaxReference) + " bytes"
	case len(l.References) > MaxReferences:
		return "reference", "has more than " + strconv.Itoa(MaxReferences) + " texts"
	}
	for _, text := range l.References {
		if text == "" || len(text) > MaxReference {
			return "reference", "is longer than " + strconv.Itoa(MaxReference) + " bytes"
		}
	}
	return "", ""
}

// Signed returns the amount before the fee; negative if the line lowers what the provider owes.
func (l *Line) Signed() money.Signed { return signed(l.Amount, l.Outgoing) }

// Net returns the change of what the provider owes: the amount minus the fee.
func (l *Line) Net() (money.Signed, error) { return l.Signed().Add(l.Fee.Neg()) }

func signed(a money.Amount, isNegative bool) money.Signed {
	return money.Signed{Negative: isNegative && !a.IsZero(), Abs: a}
}

// AppendBinary appends the stored form of the line. Equal lines have equal bytes.
func (l *Line) AppendBinary(dst []byte) []byte {
	dst = appendText(dst, l.ID)
	flags := byte(l.Kind) << 2
	if l.Outgoing {
		flags |= 1
	}
	if l.Fee.Negative {
		flags |= 2
	}
	dst = append(dst, flags)
	dst = l.Amount.AppendBinary(dst)
	dst = l.Fee.Abs.AppendBinary(dst)
	dst = l.Asset.AppendBinary(dst)
	dst = binary.AppendUvarint(dst, uint64(l.Date))
	dst = binary.AppendUvarint(dst, uint64(len(l.References)))
	for _, text := range l.References {
		dst = appendText(dst, text)
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// LineKey identifies a line among all lines of its terminal.
type LineKey [sha256.Size / 2]byte

// ClaimKey returns the key of the claim that the line's report takes.
func (k LineKey) ClaimKey(terminal ledger.ID) string {
	return terminal.String() + "/" + hex.EncodeToString(k[:])
}

// Keys assigns keys to the lines of one file. The lines must be passed in the order of the file.
type Keys struct {
	ordinals map[LineKey]uint64 // how many lines without an id had the same content
	buffer   []byte
}

// NewKeys returns the Keys of a file.
func NewKeys() *Keys { return &Keys{ordinals: make(map[LineKey]uint64)} }

// Next returns the key of the next line.
func (k *Keys) Next(l *Line) LineKey {
	if l.ID != "" {
		k.buffer = append(append(k.buffer[:0], "id\x00"...), l.ID...)
		return digest(k.buffer)
	}
	k.buffer = l.AppendBinary(append(k.buffer[:0], "content\x00"...))
	content := digest(k.buffer)
	k.ordinals[content]++
	k.buffer = binary.BigEndian.AppendUint64(k.buffer, k.ordinals[content])
	return digest(k.buffer)
}

func digest(b []byte) (key LineKey) {
	sum := sha256.Sum256(b)
	copy(key[:], sum[:])
	return key
}
