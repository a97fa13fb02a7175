package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
)

// Payer is the known data of a payer or payee, in normalised form. Empty fields are unknown.
type Payer struct {
	BIN     []byte     // the first eight digits of the card number: they are part of the card and are wiped with it
	Card    string     // keyed fingerprint of the card number
	Email   string     // lower case
	Phone   string     // digits only
	Country string     // ISO 3166-1 alpha-2, upper case
	IP      netip.Addr // unmapped, without zone
}

// Subject returns the payer's value in a limit's scope; false if it is unknown. E-mail and
// address are hashed, because the keys of counters are kept forever.
func (p *Payer) Subject(s Scope) (string, bool) {
	switch s {
	case ScopePartner:
		return "", true
	case ScopeCard:
		return p.Card, p.Card != ""
	case ScopeEmail:
		return hashed(p.Email), p.Email != ""
	case ScopeIP:
		return hashed(p.IP.String()), p.IP.IsValid()
	}
	return "", false
}

// hashed returns the first half of the text's SHA-256, in hex.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
