package journal

import (
	"strings"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// AccountFilter selects accounts.
type AccountFilter struct {
	Path   ledger.Path // selects one account; if it is empty, Prefix selects the accounts
	Prefix string
	Env    money.Env

	Currency, Network       string
	HasCurrency, HasNetwork bool // whether the account must have the currency, and whether it must have the network

	After *ledger.Account // the last account of the previous page; nil if the first page is requested
}

// Each calls fn with the selected accounts that the caller may see, ordered by path, currency
// and network, beginning after f.After.
func (f *AccountFilter) Each(view *posting.View, caller *auth.Principal, fn func(ledger.Account) (bool, error)) error {
	more := true
	for _, prefix := range VisiblePrefixes(caller, f.Prefix) {
		if !more {
			break
		}
		err := view.AccountsFrom(caller.Org, prefix, f.Env, f.After, func(a ledger.Account) (bool, error) {
			if !f.Matches(a) || !caller.MayRead(a.Path) {
				return true, nil
			}
			var err error
			more, err = fn(a)
			return more, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Matches tells whether the filter selects an account, regardless of who the caller is.
func (f *AccountFilter) Matches(a ledger.Account) bool {
	return (f.Path == "" || a.Path == f.Path) &&
		(!f.HasCurrency || string(a.Asset.Currency) == f.Currency) &&
		(!f.HasNetwork || string(a.Asset.Network) == f.Network)
}

// VisiblePrefixes returns the path prefixes to search if a caller requests the accounts whose paths begin with prefix. If
// the caller may see all accounts, the result is prefix itself. If the caller is a partner, the result covers the partner's
// own accounts below prefix, in the order of paths.
func VisiblePrefixes(caller *auth.Principal, prefix string) []string {
	if caller.MayReadAll() {
		return []string{prefix}
	}
	var prefixes []string
	for _, ownPrefix := range append(auth.AccountPrefixes(caller.Partner.Number), string(ledger.Suspense(caller.Partner.Number))) {
		switch {
		case strings.HasPrefix(ownPrefix, prefix):
			prefixes = append(prefixes, ownPrefix)
		case strings.HasPrefix(prefix, ownPrefix):
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}
