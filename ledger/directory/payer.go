package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
)

// Payer contains the known data of a payer or payee, in normalised form. Empty fields are unknown.
type Payer struct {
	BIN     []byte     // first eight digits of the card number; bytes, so that the memory can be erased
	Card    string     // keyed fingerprint of the card number
	Email   string     // lower case
	Phone   string     // digits only
	Country string     // ISO 3166-1 alpha-2, upper case
	IP      netip.Addr // without a zone; an IPv4 address is not in IPv6 form
}

// Subject returns a text that identifies the payer for limits with this scope. If the payer's card, e-mail or IP address
// that the scope needs is unknown, it returns false. The e-mail address and the IP address are hashed, because the result
// becomes part of the keys of counters, which are kept forever.
func (p *Payer) Subject(s Scope) (string, bool) {
	switch s {
	case ScopePartner:
		return "", true
	case ScopeCard:
		return p.Card, p.Card != ""
	case ScopeEmail:
		return hashText(p.Email), p.Email != ""
	case ScopeIP:
		return hashText(p.IP.String()), p.IP.IsValid()
	}
	return "", false
}

// hashText returns the first half of the text's SHA-256, in hexadecimal digits.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// The functions below normalise the data of payers and the values of the blocklist, so that equal values compare as equal.

// NormalEmail returns an e-mail address in lower case, without white space around it.
func NormalEmail(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// NormalPhone returns only the digits of a telephone number. It also removes a leading 00, which stands for the plus sign.
func NormalPhone(text string) string {
	digits := strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, text)
	return strings.TrimPrefix(digits, "00")
}

// NormalCountry returns a country's code in upper case, without white space around it.
func NormalCountry(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }

// NormalIP returns an IP address without its zone. If it is an IPv4 address in IPv6 form, it is converted to IPv4.
func NormalIP(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// countryCodes lists the 249 assigned codes (ISO 3166-1 alpha-2).
const countryCodes = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ " +
	"BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET " +
	"FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU " +
	"ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ " +
	"LA LB LC LI LK LR LS LT LU LV LY " +
	"MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ " +
	"NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW " +
	"SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ " +
	"TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT " +
	"ZA ZM ZW"

var countries = indexCountries(countryCodes)

func indexCountries(codes string) map[string]bool {
	index := make(map[string]bool)
	for code := range strings.FieldsSeq(codes) {
		index[code] = true
	}
	return index
}
