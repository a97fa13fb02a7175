package payment

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lists declares the lists of transactions. Each partner has its own lists in each environment. The creation of a
// transaction adds one row to a list, and so does each later change.
var Lists = ledger.NewPartnerLists(ledger.Transaction, func(r *Record) (partner int64, env money.Env) { return r.Partner, r.Asset.Env })

// The lists of transactions. Transactions lists all of them.
var (
	Transactions = Lists.Declare(1, func(*Record) bool { return true })
)
