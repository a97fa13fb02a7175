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

// MaxText is the maximum number of characters of a value that can be found. Longer values are not indexed.
const MaxText = 200

// Field is a searchable field of transactions. The zero value is invalid.
type Field uint8

// The fields, in the order in which their results are shown.
const (
	TxID      Field = iota + 1 // the partner's id
	RRN                        // retrieval reference number
	Reference                  // the provider's id of a charge, unless it is the transaction's id
	Email                      // the payer's e-mail address
	Last4                      // last digits of the card
)

// fields defines each Field. name must never change, because the hashes of the field's values contain it. isForm tells whether
// a folded text (see Fold) can be a value of the field; values that it refuses are not indexed. values calls add with each
// value that a record has in the field, as the value is stored; add ignores empty values.
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

// String returns the field's name, which responses also use.
func (f Field) String() string { return fields[f].name }

// Fold converts a text to the form in which texts are compared and hashed: lower case, without blanks at the beginning and end.
func Fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// FieldsOf iterates over the fields in which the folded text can be a value.
func FieldsOf(folded string) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for f := TxID; int(f) < len(fields); f++ {
			if f.accepts(folded) && !yield(f) {
				return
			}
		}
	}
}

// accepts tells whether the folded text can be a value of the field.
func (f Field) accepts(folded string) bool {
	return folded != "" && (len(folded) <= MaxText || utf8.RuneCountInString(folded) <= MaxText) && fields[f].isForm(folded)
}

// Values calls fn with every value of every field of a record. The values are folded. fn may be called twice with the same
// value.
func Values(r *payment.Record, fn func(f Field, folded string)) {
	for f := TxID; int(f) < len(fields); f++ {
		f.values(r, func(folded string) { fn(f, folded) })
	}
}

// Has tells whether the folded text is a value of the field in the record.
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

// hashBits is the length of a Hash in bits. If the index has a billion entries, about one search in 300,000 finds an entry of
// another value that has the same 48-bit hash.
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

// addReferences calls add with the provider's reference of each charge of a transaction: of the current one, and of those in
// ended attempts. It omits a reference that is the transaction's id.
func addReferences(r *payment.Record, add func(string)) {
	addOne := func(reference ledger.ID) {
		if reference != r.ID && reference != (ledger.ID{}) {
			add(reference.String())
		}
	}
	addOne(r.Reference)
	for i := range r.EndedAttempts {
		addOne(r.EndedAttempts[i].Reference)
	}
}

// addLastDigits calls add with the last digits of the current card, and of the cards that were used in ended attempts.
func addLastDigits(r *payment.Record, add func(string)) {
	add(r.CardLast4)
	for i := range r.EndedAttempts {
		add(r.EndedAttempts[i].Credentials.CardLast4)
	}
}

// emailOf returns the payer's e-mail address, or an empty text if the record has none.
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
