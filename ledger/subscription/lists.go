package subscription

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lists are the lists of subscriptions. Each partner has each of them in each environment. A
// subscription has one row in its lists, for its creation.
var Lists = ledger.NewPartnerLists(ledger.Subscription, func(r *Record) (partner int64, env money.Env) { return r.Partner, r.Asset.Env })

// All is the list of all subscriptions.
var All = Lists.Declare(1, func(*Record) bool { return true })
