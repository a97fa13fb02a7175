package check

import (
	"cmp"
	"mizan/ledger"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const (
	availableHead, availableTail = "L:partner:", ":available"
	owedHead, owedTail           = "A:partner:", ":receivable"
)

// partnersLine names both accounts between which a partner's line is split.
func partnersLine(path ledger.Path) string {
	s := string(path)
	if number, ok := between(s, owedHead, owedTail); ok {
		return number
	}
	if number, ok := between(s, availableHead, availableTail); ok {
		return number
	}
	return s
}

// availableTo is the partner whose available balance the account is.
func availableTo(path ledger.Path) (number int64, ok bool) {
	digits, ok := between(string(path), availableHead, availableTail)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

func between(s, head, tail string) (string, bool) {
	if len(s) < len(head)+len(tail) || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
		return "", false
	}
	return s[len(head) : len(s)-len(tail)], true
}

// peopleAccounts are the names of accounts of whom a contract is with: they go on
// when it has ended.
var peopleAccounts = []string{"customer", "partner_receivable"}

// ownerContract is the contract whose own account it may be.
func ownerContract(path ledger.Path) (id ledger.ID, ok bool) {
	_, rest, _ := strings.Cut(string(path), ":")
	name, rest, _ := strings.Cut(rest, ":")
	const length = 36 // as a contract's id is written
	if len(rest) < length || len(rest) > length && rest[length] != ':' || slices.Contains(peopleAccounts, name) {
		return id, false
	}
	id, err := uuid.Parse(rest[:length])
	return id, err == nil
}

func byPath(a, b ledger.Account) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Asset.String(), b.Asset.String()))
}
