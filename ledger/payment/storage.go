package payment

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Lengths that money_storage values must keep.
const (
	minCardNumber = 12 // ISO/IEC 7812 numbers in use have 12 to 19 digits
	maxCardNumber = 19
	cvvDigits     = 3
	maxHolder     = 255 // characters
	maxBankField  = 64  // bytes of an account, routing or sort code
	shownType     = 64  // bytes of an unknown type that its refusal repeats
)

// The types whose keys have rules. All others need nothing but their name.
const (
	BankCard    = "bank_card"
	DirectDebit = "direct_debit"
)

// ProviderToken is the type of a credential that a provider has given out: what a
// renewal is paid with.
const ProviderToken = "provider_token"

// methods are the money_storage types in the specification's order: universal,
// rail-specific, redirect passthrough names.
var methods = []string{
	BankCard, "bank_account", "sbp", "qr_code", "crypto", "e_wallet", "phone_payment", "bnpl", "open_banking",
	DirectDebit, "apple_pay", "google_pay", "voucher", "gift_card",

	"totp", ProviderToken, "square_nonce", "sepa", "upi", "netbanking", "boleto", "revolut_payout",
	"encrypted_qr", "native_gas", "username_subscription",

	"pix", "oxxo", "klarna", "alipay", "wechat_pay", "paynow", "grabpay", "ideal", "bancontact", "paypal_account",
	"venmo", "emi", "interac_present", "mollie_redirect", "revolut_checkout", "open_banking_redirect",
}

var methodIndex = indexMethods(methods)

func indexMethods(names []string) map[string]string {
	index := make(map[string]string, len(names))
	for _, name := range names {
		index[name] = name
	}
	return index
}

// Methods are all money_storage types.
func Methods() []string { return slices.Clone(methods) }

// Method is the type named, as a string that does not alias name.
func Method(name []byte) (method string, known bool) {
	method, known = methodIndex[string(name)]
	return method, known
}

// Storage is a money_storage object: the keys that have rules, as they were
// sent. A key is nil if it was absent or null, and empty if it was no text or
// an empty one. The values may alias a network buffer; Storage is read, never kept.
type Storage struct {
	Type, Scheme []byte

	CardNumber, CardHolder, ExpMonth, ExpYear, CVV []byte

	Network []byte // of crypto: has no rule, but may resolve the transaction's network

	RoutingNumber, AccountNumber, SortCode, InstitutionNumber, TransitNumber []byte
}

// Format implements fmt.Formatter, so that no verb shows the credentials.
func (s Storage) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }

// Key is where the value of a key belongs; nil for a key without rules.
func (s *Storage) Key(name []byte) *[]byte {
	switch string(name) {
	case "type":
		return &s.Type
	case "scheme":
		return &s.Scheme
	case "cardnumber":
		return &s.CardNumber
	case "cardholder":
		return &s.CardHolder
	case "exp_month":
		return &s.ExpMonth
	case "exp_year":
		return &s.ExpYear
	case "cvv":
		return &s.CVV
	case "network":
		return &s.Network
	case "routing_number":
		return &s.RoutingNumber
	case "account_number":
		return &s.AccountNumber
	case "sort_code":
		return &s.SortCode
	case "institution_number":
		return &s.InstitutionNumber
	case "transit_number":
		return &s.TransitNumber
	}
	return nil
}

// Check calls refuse for everything that is wrong with the object for a
// transaction of type t (specification, "money_storage"). A detail never holds
// a value other than an unknown type's name. An invalid t is taken for a
// payout, which asks for less: its own refusal is the caller's.
func (s *Storage) Check(t Type, refuse func(key, detail string)) {
	if s.Type == nil {
		refuse("type", "money_storage type is required")
		return
	}
	method, known := Method(s.Type)
	switch {
	case !known:
		refuse("type", "invalid money_storage type "+shown(s.Type))
	case method == BankCard:
		s.checkCard(t, refuse)
	case method == DirectDebit:
		s.checkDebit(t, refuse)
	}
}

// shown is the beginning of a name that is nobody's type. A card number that was
// put into the wrong key is not repeated.
func shown(name []byte) string {
	if CardLike(name) {
		return "[redacted]"
	}
	if len(name) > shownType {
		name = name[:shownType]
		for len(name) > 0 && !utf8.Valid(name) {
			name = name[:len(name)-1]
		}
	}
	return string(name)
}

// checkCard holds the rules of the specification's table "Card validation".
func (s *Storage) checkCard(t Type, refuse func(key, detail string)) {
	rules := [...]struct {
		key      string
		value    []byte
		required bool // for a payout only the number is
		valid    func([]byte) bool
	}{
		{"cardnumber", s.CardNumber, true, validCardNumber},
		{"cardholder", s.CardHolder, t == Payment, validHolder},
		{"exp_month", s.ExpMonth, t == Payment, validMonth},
		{"exp_year", s.ExpYear, t == Payment, validYear},
		{"cvv", s.CVV, t == Payment, validCVV},
	}
	for _, r := range rules {
		switch {
		case r.value == nil && r.required:
			refuse(r.key, r.key+" is required")
		case r.value != nil && !r.valid(r.value):
			refuse(r.key, "invalid "+r.key)
		}
	}
}

// checkDebit holds what each direct debit scheme needs.
func (s *Storage) checkDebit(t Type, refuse func(key, detail string)) {
	type part struct {
		key   string
		value []byte
	}
	var parts []part
	switch string(s.Scheme) {
	case "ach":
		parts = []part{{"routing_number", s.RoutingNumber}, {"account_number", s.AccountNumber}}
	case "bacs":
		parts = []part{{"sort_code", s.SortCode}, {"account_number", s.AccountNumber}}
	case "acss":
		if t != Payment {
			refuse("scheme", "acss is accepted for payments only")
			return
		}
		parts = []part{{"institution_number", s.InstitutionNumber}, {"transit_number", s.TransitNumber}, {"account_number", s.AccountNumber}}
	default:
		refuse("scheme", "direct_debit requires scheme: ach, acss, or bacs")
		return
	}
	for _, p := range parts {
		switch {
		case p.value == nil:
			refuse(p.key, p.key+" is required")
		case len(p.value) == 0 || len(p.value) > maxBankField:
			refuse(p.key, "invalid "+p.key)
		}
	}
}

func validHolder(holder []byte) bool {
	return len(holder) > 0 && utf8.RuneCount(holder) <= maxHolder
}

// validMonth takes "1" to "12" and "01" to "09": digits that are no month could
// only ever be declined later.
func validMonth(month []byte) bool {
	if len(month) > 2 || !digits(month) {
		return false
	}
	n := 0
	for _, d := range month {
		n = n*10 + int(d-'0')
	}
	return n >= 1 && n <= 12
}

func validYear(year []byte) bool { return (len(year) == 2 || len(year) == 4) && digits(year) }

func validCVV(cvv []byte) bool { return len(cvv) == cvvDigits && digits(cvv) }

// validCardNumber wants digits only and the Luhn check (ISO/IEC 7812-1, annex B). No
// issuer's numbers begin with 0, and zeros before a number leave its check digit right:
// with them a card would be none that a block list or a limit knows.
func validCardNumber(number []byte) bool {
	if len(number) < minCardNumber || len(number) > maxCardNumber || number[0] == '0' || !digits(number) {
		return false
	}
	sum := 0
	for i, c := range number {
		d := int(c - '0')
		if (len(number)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// CardLike tells whether a text has as many digits as a card number: too many to
// be repeated in an answer.
func CardLike(text []byte) bool {
	n := 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n >= minCardNumber
}

// digits tells whether there is at least one byte and all are ASCII digits.
func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
