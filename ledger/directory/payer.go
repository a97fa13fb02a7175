package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
)

// Payer is what is known of who pays or is paid, in normalised form. Empty
// fields are not known.
type Payer struct {
	BIN     []byte     // the first eight digits of the card number: a part of the card itself, which is wiped with it
	Card    string     // keyed fingerprint of the card number
	Email   string     // lower case
	Phone   string     // digits only
	Country string     // ISO 3166-1 alpha-2, upper case
	IP      netip.Addr // unmapped, without zone
}

// Subject is the payer as a limit's scope sees it; false where nothing is known
// of it. E-mail and address are hashed: counters' keys are kept for ever.
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

// hashed is half of the text's SHA-256, in hex.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
