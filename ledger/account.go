package ledger

import (
	"strconv"
	"strings"

	"mizan/ledger/money"
)

// Class is the first letter of an account's path and fixes its normal side.
type Class byte

// The classes of the chart of accounts.
const (
	ClassAsset       Class = 'A'
	ClassLiability   Class = 'L'
	ClassQuasiEquity Class = 'Q'
	ClassIncome      Class = 'I'
	ClassExpense     Class = 'E'
	ClassMemorandum  Class = 'M'
)

// Side is the side of an account that a posting goes to.
type Side uint8

// The two sides. The zero value is invalid.
const (
	Debit Side = iota + 1
	Credit
)

// String returns "debit" or "credit".
func (s Side) String() string {
	switch s {
	case Debit:
		return "debit"
	case Credit:
		return "credit"
	}
	return "invalid"
}

// Opposite returns the other side.
func (s Side) Opposite() Side { return Debit + Credit - s }

// Path names an account inside an organization, for example "L:partner:1:available".
type Path string

// MaxPath bounds a path's length in bytes.
const MaxPath = 200

// Account is a path in one asset. The journal in which it is booked determines its organization; the asset
// determines its environment (production or test).
type Account struct {
	Path  Path
	Asset money.Asset
}

// Class returns the path's first letter.
func (p Path) Class() Class {
	if p == "" {
		return 0
	}
	return Class(p[0])
}

// NormalSide returns the side on which the account's balance is positive.
func (p Path) NormalSide() Side {
	switch p.Class() {
	case ClassAsset, ClassExpense:
		if strings.HasPrefix(string(p), contraAssetAccount) {
			return Credit
		}
		return Debit
	case ClassMemorandum:
		if isCreditMemorandum[p.stem()] {
			return Credit
		}
		return Debit
	}
	return Credit
}

// stem returns the path's first two segments, which name the kind of account.
func (p Path) stem() string {
	s := string(p)
	firstColon := strings.IndexByte(s, ':')
	if firstColon < 0 {
		return s
	}
	if secondSegmentLength := strings.IndexByte(s[firstColon+1:], ':'); secondSegmentLength >= 0 {
		return s[:firstColon+1+secondSegmentLength]
	}
	return s
}

// IsValid tells whether the path is a class letter, a colon and segments of ASCII letters, digits, '-', '_' and
// '.'. Other characters must not reach a stored key.
func (p Path) IsValid() bool {
	if len(p) < 3 || len(p) > MaxPath || p[1] != ':' {
		return false
	}
	switch p.Class() {
	case ClassAsset, ClassLiability, ClassQuasiEquity, ClassIncome, ClassExpense, ClassMemorandum:
	default:
		return false
	}
	previous := byte(':')
	for i := 2; i < len(p); i++ {
		c := p[i]
		switch {
		case c == ':':
			if previous == ':' {
				return false
			}
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
		previous = c
	}
	return previous != ':'
}

// These accounts have another normal side than their class: a contra asset account, and the memorandum accounts
// that are positive on the credit side.
const contraAssetAccount = "A:accumulated_depreciation"

var isCreditMemorandum = map[string]bool{"M:partner_capital": true, "M:arrears_control": true}

// Accounts for payments. An organization has each of them once in each asset.
const (
	Bank         Path = "A:bank"
	Fees         Path = "I:fees"
	ProviderFees Path = "E:provider_fees"
	FXPosition   Path = "Q:fx_position"
)

// ProviderReceivable is the account of what a terminal's provider owes the institution.
func ProviderReceivable(terminal ID) Path {
	const prefix = "A:provider:"
	var buffer [len(prefix) + 36]byte
	return Path(appendID(append(buffer[:0], prefix...), terminal))
}

// PartnerAvailable is the account of what the institution owes a partner.
func PartnerAvailable(partner int64) Path { return partnerPath("L:partner:", partner, ":available") }

// PartnerReceivable is the account of what a partner owes the institution.
func PartnerReceivable(partner int64) Path { return partnerPath("A:partner:", partner, ":receivable") }

// Suspense is the account of money that arrived for a closed transaction.
func Suspense(partner int64) Path { return partnerPath("L:suspense:", partner, "") }

func partnerPath(prefix string, partner int64, suffix string) Path {
	return Path(prefix + strconv.FormatInt(partner, 10) + suffix)
}
