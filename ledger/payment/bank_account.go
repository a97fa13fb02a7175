package payment

import "strings"

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
