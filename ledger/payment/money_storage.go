package payment

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mizan/ledger/money"
)

// Bounds of the lengths of values in money_storage.
const (
	minCardNumber = 12 // digits; card numbers in use have 12 to 19 (ISO/IEC 7812)
	maxCardNumber = 19
	cvvDigits     = 3
	maxHolder     = 255 // characters
	maxBankField  = 64  // bytes of an account number, routing number or sort code
	maxQuotedType = 64  // bytes of an unknown type's name that the error message repeats
)

// The types of money_storage that have required keys. For all other types, only the key "type" is required.
const (
	BankCard    = "bank_card"
	DirectDebit = "direct_debit"
)

// ProviderToken is the money_storage type of a credential that a provider has issued. Renewals use this type.
const ProviderToken = "provider_token"

// methods lists the money_storage types in the specification's order: first universal types, then rail-specific types,
// then the names of rails to which the payer is redirected.
var methods = []string{
	BankCard, "bank_account", "sbp", "qr_code", "crypto", "e_wallet", "phone_payment", "bnpl", "open_banking",
	DirectDebit, "apple_pay", "google_pay", "voucher", "gift_card",

	"totp", ProviderToken, "square_nonce", SEPA, "upi", "netbanking", "boleto", "revolut_payout",
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

// Methods returns all money_storage types.
func Methods() []string { return slices.Clone(methods) }

// Method returns the money_storage type with the given name, if it is known. The returned string does not alias name.
func Method(name []byte) (method string, known bool) {
	method, known = methodIndex[string(name)]
	return method, known
}

// MoneyStorage is a money_storage object. Each field contains the value of a key exactly as in the request. A field is
// nil if the key is absent or null, and empty if the value is an empty text or not a text. Fields may alias a network
// buffer, so MoneyStorage must not be stored.
type MoneyStorage struct {
	Type, Scheme []byte

	CardNumber, CardHolder, ExpMonth, ExpYear, CVV []byte

	Network []byte // network of a crypto payment; not checked here, but may become the transaction's network

	RoutingNumber, AccountNumber, SortCode, InstitutionNumber, TransitNumber []byte

	IBAN, AccountHolder []byte // of type SEPA
}

// Format implements fmt.Formatter. It shows the credentials with no formatting verb.
func (s MoneyStorage) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }

// Key returns a pointer to the field for a key, or nil if there is no field for it.
func (s *MoneyStorage) Key(name []byte) *[]byte {
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
	case "iban":
		return &s.IBAN
	case "account_holder":
		return &s.AccountHolder
	}
	return nil
}

// Check calls refuse for each invalid or missing value, according to the rules for a transaction of type t
// (specification, "money_storage"). The detail never contains a value of the request, except the name of an unknown type.
// If t is invalid, the rules for payouts apply, which are fewer; the caller has to refuse an invalid t.
func (s *MoneyStorage) Check(t Type, refuse func(key, detail string)) {
	if s.Type == nil {
		refuse("type", "money_storage type is required")
		return
	}
	method, known := Method(s.Type)
	switch {
	case !known:
		refuse("type", "invalid money_storage type "+quotableType(s.Type))
	case method == BankCard:
		s.checkCard(t, refuse)
	case method == DirectDebit:
		s.checkDebit(t, refuse)
	case method == SEPA:
		s.checkSEPA(refuse)
	}
}

// quotableType returns the name of an unknown type, shortened for an error message. If the name may be a card number that
// was sent under the wrong key, it returns "[redacted]".
func quotableType(name []byte) string {
	if CardLike(name) {
		return "[redacted]"
	}
	if len(name) > maxQuotedType {
		name = name[:maxQuotedType]
		for len(name) > 0 && !utf8.Valid(name) {
			name = name[:len(name)-1]
		}
	}
	return string(name)
}

// cardRules are the rules of the specification's table "Card validation".
var cardRules = []struct {
	key          string
	paymentsOnly bool // whether a payout does not require the key
	isValid      func([]byte) bool
}{
	{"cardnumber", false, validCardNumber},
	{"cardholder", true, validHolder},
	{"exp_month", true, validMonth},
	{"exp_year", true, validYear},
	{"cvv", true, validCVV},
}

// debitSchemes are the direct debit schemes and the keys that each of them requires (specification, "money_storage").
var debitSchemes = []struct {
	name         string
	currency     money.Currency // the currency in which the scheme moves money
	paymentsOnly bool
	keys         []string
}{
	{"ach", "USD", false, []string{"routing_number", "account_number"}},
	{"bacs", "GBP", false, []string{"sort_code", "account_number"}},
	{"acss", "CAD", true, []string{"institution_number", "transit_number", "account_number"}},
}

func (s *MoneyStorage) checkCard(t Type, refuse func(key, detail string)) {
	for i := range cardRules {
		rule := &cardRules[i]
		value := *s.Key([]byte(rule.key))
		switch {
		case value == nil && (t == Payment || !rule.paymentsOnly):
			refuse(rule.key, rule.key+" is required")
		case value != nil && !rule.isValid(value):
			refuse(rule.key, "invalid "+rule.key)
		}
	}
}

// checkDebit checks that a direct debit has a known scheme and the keys that the scheme requires.
func (s *MoneyStorage) checkDebit(t Type, refuse func(key, detail string)) {
	for i := range debitSchemes {
		scheme := &debitSchemes[i]
		switch {
		case string(s.Scheme) != scheme.name:
			continue
		case scheme.paymentsOnly && t != Payment:
			refuse("scheme", scheme.name+" is accepted for payments only")
			return
		}
		for _, key := range scheme.keys {
			switch value := *s.Key([]byte(key)); {
			case value == nil:
				refuse(key, key+" is required")
			case len(value) == 0 || len(value) > maxBankField:
				refuse(key, "invalid "+key)
			}
		}
		return
	}
	refuse("scheme", "direct_debit requires scheme: ach, acss, or bacs")
}

// RequiredKeys returns the keys that a money_storage object of the given type must have in a transaction of type t and
// the given currency. For a direct debit, scheme is the scheme of the currency; if the currency has no scheme, exists is
// false. The keys "type" and "scheme" are not in the result.
func RequiredKeys(method string, t Type, currency money.Currency) (keys []string, scheme string, exists bool) {
	switch method {
	case BankCard:
		for _, rule := range cardRules {
			if t == Payment || !rule.paymentsOnly {
				keys = append(keys, rule.key)
			}
		}
	case DirectDebit:
		for _, s := range debitSchemes {
			if s.currency == currency && (t == Payment || !s.paymentsOnly) {
				return s.keys, s.name, true
			}
		}
		return nil, "", false
	}
	return keys, "", true
}

func validHolder(holder []byte) bool {
	return len(holder) > 0 && utf8.RuneCount(holder) <= maxHolder
}

// validMonth accepts "1" to "12" and "01" to "09". Other months are refused here, so that the client learns of the
// mistake before a provider is called.
func validMonth(month []byte) bool {
	if len(month) > 2 || !isDigits(month) {
		return false
	}
	n := 0
	for _, d := range month {
		n = n*10 + int(d-'0')
	}
	return n >= 1 && n <= 12
}

func validYear(year []byte) bool { return (len(year) == 2 || len(year) == 4) && isDigits(year) }

func validCVV(cvv []byte) bool { return len(cvv) == cvvDigits && isDigits(cvv) }

// validCardNumber requires digits and a valid Luhn check digit (ISO/IEC 7812-1, annex B). A leading zero is refused,
// because no issuer's numbers begin with 0. Besides, a zero in front does not change the check digit, so the same card
// with an added zero could evade the blocklist and the limits.
func validCardNumber(number []byte) bool {
	if len(number) < minCardNumber || len(number) > maxCardNumber || number[0] == '0' || !isDigits(number) {
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

// CardLike tells whether a text has at least as many digits as a card number. Such a text must not be repeated in a
// response. Digits of every script count, because a keyboard may produce other digits than 0 to 9.
func CardLike(text []byte) bool {
	n := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text) // a conversion to a string would leave a copy of the number in memory
		if unicode.IsDigit(r) {
			n++
		}
		text = text[size:]
	}
	return n >= minCardNumber
}

// isDigits tells whether the text is not empty and consists of ASCII digits.
func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// SEPA is the money_storage type of an account that is reached by SEPA credit transfer.
const SEPA = "sepa"

// maxSEPAName is the maximum length of the name of an account's holder (EPC115-06, AT-E001).
const maxSEPAName = 70

// ibanLengths are the lengths of the IBANs of the countries that take part in SEPA (EPC409-09, and ISO 13616 for the lengths).
var ibanLengths = map[string]int{
	"AD": 24, "AL": 28, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
	"FR": 27, "GB": 22, "GI": 23, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21,
	"MC": 27, "MD": 24, "ME": 22, "MK": 19, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "RS": 22, "SE": 24, "SI": 19,
	"SK": 24, "SM": 27, "VA": 22,
}

// IsSEPAIBAN tells whether a text is an IBAN of a SEPA country in electronic form (ISO 13616): without spaces, in capitals, of the
// country's length, and with check digits that fit (ISO 7064, MOD 97-10).
func IsSEPAIBAN(text []byte) bool {
	if len(text) < 4 || ibanLengths[string(text[:2])] != len(text) {
		return false
	}
	remainder := 0
	for i := range text {
		switch c := text[(i+4)%len(text)]; { // the first four characters come last
		case c >= '0' && c <= '9':
			remainder = (remainder*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			remainder = (remainder*100 + int(c-'A') + 10) % 97
		default:
			return false
		}
	}
	return remainder == 1
}

// IsSEPAName tells whether a text can be the name of an account's holder in a SEPA credit transfer: at most 70 characters of the
// set that all banks accept (EPC217-08), not beginning or ending with a space, and without the slashes that banks forbid.
func IsSEPAName(text []byte) bool {
	if len(text) == 0 || len(text) > maxSEPAName || text[0] == ' ' || text[len(text)-1] == ' ' || text[0] == '/' || text[len(text)-1] == '/' {
		return false
	}
	for i, c := range text {
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !isLetter && (c < '0' || c > '9') && strings.IndexByte("/-?:().,'+ ", c) < 0 || c == '/' && text[i-1] == '/' {
			return false
		}
	}
	return true
}

// checkSEPA checks the account of a credential of type SEPA. Both keys may be absent, because a provider other than a bank, such
// as the simulator, asks for the account in another way.
func (s *MoneyStorage) checkSEPA(refuse func(key, detail string)) {
	if s.IBAN != nil && !IsSEPAIBAN(s.IBAN) {
		refuse("iban", "invalid iban: an IBAN of a SEPA country in capitals, without spaces")
	}
	if s.AccountHolder != nil && !IsSEPAName(s.AccountHolder) {
		refuse("account_holder", "invalid account_holder: at most 70 characters out of a-z, A-Z, 0-9, space and /-?:().,'+")
	}
	if s.IBAN == nil && s.AccountHolder != nil {
		refuse("iban", "iban is required with account_holder")
	}
	if s.IBAN != nil && s.AccountHolder == nil {
		refuse("account_holder", "account_holder is required with iban")
	}
}
