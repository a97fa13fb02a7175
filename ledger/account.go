package ledger

import (
	"strconv"
	"strings"

	"mizan/ledger/money"
)

// Class is an account's class, such as asset or income. It is the first letter of the account's path, and determines the
// normal side of the account.
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

// Account identifies an account within an organization by its path and its asset. Each organization has its own journal. The
// asset determines the environment (production or test).
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

// NormalSide returns the side (debit or credit) on which the account's balance is positive.
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

// Group returns the path of the account's group: the beginning that its path shares with the other accounts of the group.
// It is the path's first two segments with their colons, such as "L:partner:". For an account with a path of only two
// segments, such as "A:bank", it is the class with its colon. Each account is in exactly one group.
func (p Path) Group() Path {
	if n := len(p.stem()); n < len(p) {
		return p[:n+1]
	}
	return p[:strings.IndexByte(string(p), ':')+1]
}

// IsGroup tells whether the path is that of a group of accounts.
func (p Path) IsGroup() bool {
	account := p + "x" // a possible account of the group
	return account.IsValid() && account.Group() == p
}

// IsValid tells whether the path is a class letter, a colon and segments of ASCII letters, digits, '-', '_' and '.',
// separated by colons. A path is part of stored keys, which must not contain other characters.
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

// These accounts have their normal side on credit, unlike the other accounts of their class. They are one contra asset
// account and two memorandum accounts.
const contraAssetAccount = "A:accumulated_depreciation"

var isCreditMemorandum = map[string]bool{"M:partner_capital": true, "M:arrears_control": true}

// Paths of accounts that payments use. An organization has each of these accounts once in each asset.
const (
	Bank         Path = "A:bank"
	Fees         Path = "I:fees"
	ProviderFees Path = "E:provider_fees"
	FXPosition   Path = "Q:fx_position"
)

// ProviderReceivable returns the path of the account of what a terminal's payment provider owes the institution.
func ProviderReceivable(terminal ID) Path {
	const prefix = "A:provider:"
	var buffer [len(prefix) + 36]byte
	return Path(appendID(append(buffer[:0], prefix...), terminal))
}

// PartnerAvailable returns the path of the account of what the institution owes a partner: the partner's balance.
func PartnerAvailable(partner int64) Path { return partnerPath("L:partner:", partner, ":available") }

// PartnerReceivable returns the path of the account of what a partner owes the institution.
func PartnerReceivable(partner int64) Path { return partnerPath("A:partner:", partner, ":receivable") }

// Suspense returns the path of the account of money that moved for a partner's transaction after the transaction was closed.
func Suspense(partner int64) Path { return partnerPath("L:suspense:", partner, "") }

func partnerPath(prefix string, partner int64, suffix string) Path {
	return Path(prefix + strconv.FormatInt(partner, 10) + suffix)
}
