package search

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"strings"
	"unicode/utf8"

	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// MaxText is the length in characters of the longest value that is found. Longer values are not indexed.
const MaxText = 200

// Field is a field of a transaction by which the transaction is found. The zero value is invalid.
type Field uint8

// The fields, in the order in which their results are shown.
const (
	TxID      Field = iota + 1 // the partner's id
	RRN                        // retrieval reference number
	Reference                  // the provider's id of a charge, unless it is the transaction's id
	Email                      // the payer's e-mail address
	Last4                      // last digits of the card
)

// fields says, for each Field, its name, which texts it may have, and its values in a record. The name is also in the
// hashes of values, so it never changes. Values that isForm refuses are not found. Folded texts are passed to isForm. Values are
// passed to add as they are stored; add ignores empty ones.
var fields = [...]struct {
	name   string
	isForm func(folded string) bool
	values func(r *payment.Record, add func(value string))
}{
	TxID:      {"txid", isAny, func(r *payment.Record, add func(string)) { add(r.TxID) }},
	RRN:       {"rrn", isAny, func(r *payment.Record, add func(string)) { add(r.RRN) }},
	Reference: {"reference", isUUID, addReferences},
	Email:     {"email", isAddress, func(r *payment.Record, add func(string)) { add(emailOf(r)) }},
	Last4:     {"last4", isLast4, addLastDigits},
}

// String returns the field's name, as in responses.
func (f Field) String() string { return fields[f].name }

// Fold returns the form in which texts are compared and hashed: in lower case, without blanks around it.
func Fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// FieldsOf iterates over the fields that may have a folded text.
func FieldsOf(folded string) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for f := TxID; int(f) < len(fields); f++ {
			if f.accepts(folded) && !yield(f) {
				return
			}
		}
	}
}

// accepts tells whether the field may have a folded text.
func (f Field) accepts(folded string) bool {
	return folded != "" && (len(folded) <= MaxText || utf8.RuneCountInString(folded) <= MaxText) && fields[f].isForm(folded)
}

// Values calls fn with each folded value that a record has in a field. A value may come twice.
func Values(r *payment.Record, fn func(f Field, folded string)) {
	for f := TxID; int(f) < len(fields); f++ {
		f.values(r, func(folded string) { fn(f, folded) })
	}
}

// Has tells whether a record has a folded text in the field.
func (f Field) Has(r *payment.Record, folded string) (has bool) {
	f.values(r, func(value string) { has = has || value == folded })
	return has
}

func (f Field) values(r *payment.Record, fn func(folded string)) {
	fields[f].values(r, func(value string) {
		if folded := Fold(value); f.accepts(folded) {
			fn(folded)
		}
	})
}

// hashBits is the length of a Hash. With 48 bits, about one in 300,000 searches among a billion entries meets an entry of another
// value that has the same hash.
const hashBits = 48

// Hash identifies a value of a field; different values may have the same Hash.
type Hash uint64

// HashOf returns the first 48 bits of the SHA-256 of the field's name, a zero byte and the folded value.
func (f Field) HashOf(folded string) Hash {
	var room [64]byte
	text := append(append(room[:0], fields[f].name...), 0)
	sum := sha256.Sum256(append(text, folded...))
	return Hash(binary.BigEndian.Uint64(sum[:8]) >> (64 - hashBits))
}

func isAny(string) bool { return true }

func isUUID(folded string) bool {
	const uuidLength = 36
	return len(folded) == uuidLength
}

func isAddress(folded string) bool { return strings.Contains(folded, "@") }

func isLast4(folded string) bool {
	const digits = 4
	return len(folded) == digits && strings.Trim(folded, "0123456789") == ""
}

// addReferences adds the provider's reference of the present charge, and those of the charges in ended attempts.
func addReferences(r *payment.Record, add func(string)) {
	addOne := func(reference ledger.ID) {
		if reference != r.ID && reference != (ledger.ID{}) {
			add(reference.String())
		}
	}
	addOne(r.Reference)
	for i := range r.Ended {
		addOne(r.Ended[i].Reference)
	}
}

// addLastDigits adds the last digits of the present card and of the cards of ended attempts.
func addLastDigits(r *payment.Record, add func(string)) {
	add(r.CardLast4)
	for i := range r.Ended {
		add(r.Ended[i].Credentials.CardLast4)
	}
}

// emailOf returns the payer's e-mail address; empty if there is none.
func emailOf(r *payment.Record) string {
	if len(r.Customer) == 0 {
		return ""
	}
	members := jsonwalk.MembersOf(r.Customer)
	for name, value, more := members.Next(); more; name, value, more = members.Next() {
		if string(name) == "email" {
			email, _ := jsonwalk.Text(value)
			return string(email)
		}
	}
	return ""
}
