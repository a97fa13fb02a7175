package payment

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lists are the lists of transactions. Each partner has each of them in each environment. A
// transaction has a row in its lists for its creation and for each later change.
var Lists = ledger.NewPartnerLists(ledger.Transaction, func(r *Record) (partner int64, env money.Env) { return r.Partner, r.Asset.Env })

// The lists, one row each.
var (
	Transactions = Lists.Declare(1, func(*Record) bool { return true })
)
