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

// AccountPrefixes returns the path prefixes of a partner's own accounts, in the order of paths. The suspense account is left
// out: its path ends in the partner's number, so as a prefix it would also show partner 1 the account of partner 12.
func AccountPrefixes(partner int64) []string {
	receivable := string(ledger.PartnerReceivable(partner))
	available := string(ledger.PartnerAvailable(partner))
	return []string{
		strings.TrimSuffix(receivable, "receivable"), // A:partner:{n}:
		strings.TrimSuffix(available, "available"),   // L:partner:{n}:
	}
}
