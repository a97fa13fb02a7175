package scan

import (
	"cmp"
	"mizan/ledger"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const (
	AvailableHead, AvailableTail = "L:partner:", ":available"
	OwedHead, OwedTail           = "A:partner:", ":receivable"
)

// PartnerLine names both accounts between which a partner's line is split.
func PartnerLine(path ledger.Path) string {
	s := string(path)
	if number, ok := Between(s, OwedHead, OwedTail); ok {
		return number
	}
	if number, ok := Between(s, AvailableHead, AvailableTail); ok {
		return number
	}
	return s
}

// AvailableTo is the partner whose available balance the account is.
func AvailableTo(path ledger.Path) (number int64, ok bool) {
	digits, ok := Between(string(path), AvailableHead, AvailableTail)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

func Between(s, head, tail string) (string, bool) {
	if len(s) < len(head)+len(tail) || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
		return "", false
	}
	return s[len(head) : len(s)-len(tail)], true
}

// peopleAccounts are the names of accounts of whom a contract is with: they go on
// when it has ended.
var peopleAccounts = []string{"customer", "partner_receivable"}

// OwnerContract is the contract whose own account it may be.
func OwnerContract(path ledger.Path) (id ledger.ID, ok bool) {
	_, rest, _ := strings.Cut(string(path), ":")
	name, rest, _ := strings.Cut(rest, ":")
	const length = 36 // as a contract's id is written
	if len(rest) < length || len(rest) > length && rest[length] != ':' || slices.Contains(peopleAccounts, name) {
		return id, false
	}
	id, err := uuid.Parse(rest[:length])
	return id, err == nil
}

func ByPath(a, b ledger.Account) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Asset.String(), b.Asset.String()))
}
