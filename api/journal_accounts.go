package api

import (
	"strings"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// accountFilter says which accounts are asked for.
type accountFilter struct {
	path   ledger.Path // one account's; empty: all that prefix begins
	prefix string
	env    money.Env

	currency, network       string
	hasCurrency, hasNetwork bool // false: any

	past *ledger.Account // the last account of the page before; nil: this is the first page
}

// each calls fn with the accounts that the caller may see and asked for, by path,
// currency and network, from the cursor on.
func (f *accountFilter) each(view *posting.View, who *auth.Principal, fn func(ledger.Account) (bool, error)) error {
	more := true
	for _, prefix := range visible(who, f.prefix) {
		if !more {
			break
		}
		err := view.AccountsFrom(who.Org, prefix, f.env, f.past, func(a ledger.Account) (bool, error) {
			if !f.wants(a) || !who.Sees(a.Path) {
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

// wants tells whether an account is asked for.
func (f *accountFilter) wants(a ledger.Account) bool {
	return (f.path == "" || a.Path == f.path) &&
		(!f.hasCurrency || string(a.Asset.Currency) == f.currency) &&
		(!f.hasNetwork || string(a.Asset.Network) == f.network)
}

// visible are the path prefixes to look under, in order, for a caller who asks
// for one prefix: for an auditor that one, for a partner what its own have in
// common with it.
func visible(who *auth.Principal, asked string) []string {
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
