package subscription

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lists declares the lists of subscriptions. Every partner has separate lists in each environment. When a subscription is
// created, one row is written into each list that shows it.
var Lists = ledger.NewPartnerLists(ledger.Subscription, func(r *Record) (partner int64, env money.Env) { return r.Partner, r.Asset.Env })

// All is the list of all subscriptions. Its number 1 is part of stored keys, so it never changes.
var All = Lists.Declare(1, func(*Record) bool { return true })
