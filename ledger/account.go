package ledger

import (
	"strconv"
	"strings"

	"mizan/ledger/money"
)

// Class is the class of an account, such as asset or income. The first letter of the account's path is its class. The class
// determines the account's normal side, with a few exceptions (see Path.NormalSide).
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

// Side is the side of an account on which an amount is posted: debit or credit.
type Side uint8

// Sides of an account. The zero value of Side is invalid.
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

// Opposite returns Credit for Debit, and Debit for Credit.
func (s Side) Opposite() Side { return Debit + Credit - s }

// Path is the name of an account within an organization, for example "L:partner:1:available".
type Path string

// MaxPath is the maximum length of a path in bytes.
const MaxPath = 200

// Account identifies an account within an organization by its path and its asset. The asset also determines the environment
// (production or test). Account need not name the organization, because each organization has its own journal.
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

// stem returns the first two segments of the path, which name the kind of account.
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

// Group returns the path of the group of accounts to which the account belongs. Each account belongs to one group. The path of
// a group is the first two segments of its accounts' paths, with a colon after each, such as "L:partner:". Accounts whose path
// has only two segments, such as "A:bank", are grouped by class; the path of their group is "A:".
func (p Path) Group() Path {
	if n := len(p.stem()); n < len(p) {
		return p[:n+1]
	}
	return p[:strings.IndexByte(string(p), ':')+1]
}

// IsGroup tells whether p is the path of a group of accounts.
func (p Path) IsGroup() bool {
	account := p + "x" // path of a possible account in the group
	return account.IsValid() && account.Group() == p
}

// IsValid tells whether the path has the right form: the letter of a class, a colon, and one or more segments that are
// separated by colons. A segment consists of ASCII letters, digits, '-', '_' and '.'. Other characters are not allowed, because
// a path is part of stored keys.
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

// Accounts whose normal side is credit, although the normal side of their class is debit: one contra asset account and two
// memorandum accounts.
const contraAssetAccount = "A:accumulated_depreciation"

var isCreditMemorandum = map[string]bool{"M:partner_capital": true, "M:arrears_control": true}

// Paths of accounts that payments use. For each asset, an organization has one account with each of these paths.
const (
	Bank         Path = "A:bank"
	Fees         Path = "I:fees"
	ProviderFees Path = "E:provider_fees"
	FXPosition   Path = "Q:fx_position"
)

// ProviderReceivable returns the path of the account for money that the payment provider of a terminal owes the institution.
func ProviderReceivable(terminal ID) Path {
	const prefix = "A:provider:"
	var buffer [len(prefix) + 36]byte
	return Path(appendID(append(buffer[:0], prefix...), terminal))
}

// WriteOffs is the path of the account for shortfalls at providers that were written off.
const WriteOffs Path = "E:write_offs"

// InTransit returns the path of the account for money that the payment provider of a terminal has paid out and that has not
// reached the bank yet.
func InTransit(terminal ID) Path { return Path("A:in_transit:" + terminal.String()) }

// Unidentified returns the path of the account for money of which the payment provider of a terminal has more than the books
// explain.
func Unidentified(terminal ID) Path { return Path("L:unidentified:" + terminal.String()) }

// PartnerAvailable returns the path of the account for money that the institution owes a partner (the partner's balance).
func PartnerAvailable(partner int64) Path { return partnerPath("L:partner:", partner, ":available") }

// PartnerReceivable returns the path of the account for money that a partner owes the institution.
func PartnerReceivable(partner int64) Path { return partnerPath("A:partner:", partner, ":receivable") }

// Suspense returns the path of the account for money that moved for a partner's transaction after the transaction was closed.
func Suspense(partner int64) Path { return partnerPath("L:suspense:", partner, "") }

func partnerPath(prefix string, partner int64, suffix string) Path {
	return Path(prefix + strconv.FormatInt(partner, 10) + suffix)
}
