package auth

import (
	"strings"

	"mizan/ledger"
)

// Owns tells whether the account belongs to the partner.
func Owns(partner int64, path ledger.Path) bool {
	if path == ledger.Suspense(partner) {
		return true
	}
	for _, prefix := range AccountPrefixes(partner) {
		if strings.HasPrefix(string(path), prefix) {
			return true
		}
	}
	return false
}

// AccountPrefixes returns the path prefixes of a partner's own accounts, in ascending order. The suspense account is left out
// because its path ends in the partner's number: as a prefix, the path of partner 1 would also match the account of partner 12.
func AccountPrefixes(partner int64) []string {
	receivable := string(ledger.PartnerReceivable(partner))
	available := string(ledger.PartnerAvailable(partner))
	return []string{
		strings.TrimSuffix(receivable, "receivable"), // A:partner:{n}:
		strings.TrimSuffix(available, "available"),   // L:partner:{n}:
	}
}
