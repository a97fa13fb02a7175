package subscription

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lists declares the lists of subscriptions. Each partner has its own lists in each environment. A subscription has one row
// in each of its lists, written at its creation.
var Lists = ledger.NewPartnerLists(ledger.Subscription, func(r *Record) (partner int64, env money.Env) { return r.Partner, r.Asset.Env })

// All is the list of all subscriptions. The list's number, 1, is part of stored keys.
var All = Lists.Declare(1, func(*Record) bool { return true })
