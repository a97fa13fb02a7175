package scan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
)

// A partner's balance is split between two accounts: the available balance, and what the partner owes. The paths of the
// two accounts have these prefixes and suffixes.
const (
	AvailablePrefix, AvailableSuffix = "L:partner:", ":available"
	OwedPrefix, OwedSuffix           = "A:partner:", ":receivable"
)

// BalanceKey returns the partner's number for both accounts between which a partner's balance is split. For any other account
// it returns the path itself.
func BalanceKey(path ledger.Path) string {
	s := string(path)
	if number, ok := Between(s, OwedPrefix, OwedSuffix); ok {
		return number
	}
	if number, ok := Between(s, AvailablePrefix, AvailableSuffix); ok {
		return number
	}
	return s
}

// AvailableBalanceOwner returns the number of the partner whose available balance the account holds.
func AvailableBalanceOwner(path ledger.Path) (number int64, ok bool) {
	digits, ok := Between(string(path), AvailablePrefix, AvailableSuffix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

// Between returns the part of s between the prefix and the suffix. It returns false if s lacks the prefix or the
// suffix.
func Between(s, prefix, suffix string) (string, bool) {
	if len(s) < len(prefix)+len(suffix) || !strings.HasPrefix(s, prefix) || !strings.HasSuffix(s, suffix) {
		return "", false
	}
	return s[len(prefix) : len(s)-len(suffix)], true
}

// counterpartyAccounts are the names of accounts that belong to the other party of a contract, not to the contract.
// Such an account may have a balance after the contract has ended.
var counterpartyAccounts = []string{"customer", "partner_receivable"}

// OwnerContract returns the contract to which the account belongs, according to its path.
func OwnerContract(path ledger.Path) (id ledger.ID, ok bool) {
	_, remainder, _ := strings.Cut(string(path), ":")
	name, remainder, _ := strings.Cut(remainder, ":")
	const idLength = 36 // length of a contract's id as text
	if len(remainder) < idLength || len(remainder) > idLength && remainder[idLength] != ':' || slices.Contains(counterpartyAccounts, name) {
		return id, false
	}
	id, err := uuid.Parse(remainder[:idLength])
	return id, err == nil
}

// ByPath orders accounts by path, then by asset.
func ByPath(a, b ledger.Account) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Asset.String(), b.Asset.String()))
}
