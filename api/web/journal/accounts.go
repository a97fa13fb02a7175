package journal

import (
	"strings"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// AccountFilter says which accounts are asked for.
type AccountFilter struct {
	Path   ledger.Path // one account's; empty: all that prefix begins
	Prefix string
	Env    money.Env

	Currency, Network       string
	HasCurrency, HasNetwork bool // false: any

	Past *ledger.Account // the last account of the page before; nil: this is the first page
}

// Each calls fn with the accounts that are asked for and visible to the caller, ordered by
// path, currency and network, after the cursor.
func (f *AccountFilter) Each(view *posting.View, who *auth.Principal, fn func(ledger.Account) (bool, error)) error {
	more := true
	for _, prefix := range Visible(who, f.Prefix) {
		if !more {
			break
		}
		err := view.AccountsFrom(who.Org, prefix, f.Env, f.Past, func(a ledger.Account) (bool, error) {
			if !f.Wants(a) || !who.Sees(a.Path) {
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

// Wants tells whether an account is asked for.
func (f *AccountFilter) Wants(a ledger.Account) bool {
	return (f.Path == "" || a.Path == f.Path) &&
		(!f.HasCurrency || string(a.Asset.Currency) == f.Currency) &&
		(!f.HasNetwork || string(a.Asset.Network) == f.Network)
}

// Visible are the path prefixes to search, in order, for a caller who asks for one prefix:
// that one for an auditor, its overlap with the partner's own prefixes for a partner.
func Visible(who *auth.Principal, asked string) []string {
	if who.Partner == nil {
		return []string{asked}
	}
	var under []string
	for _, own := range append(auth.Prefixes(who.Partner.Number), string(ledger.Suspense(who.Partner.Number))) {
		switch {
		case strings.HasPrefix(own, asked):
			under = append(under, own)
		case strings.HasPrefix(asked, own):
			under = append(under, asked)
		}
	}
	return under
}
