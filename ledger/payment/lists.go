package payment

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Lists declares the lists of transactions. Each partner has its own lists in each environment. A list has one row for the
// creation of a transaction and one row for each later change.
var Lists = ledger.NewPartnerLists(ledger.Transaction, func(r *Record) (partner int64, env money.Env) { return r.Partner, r.Asset.Env })

// The lists of transactions. The list Transactions shows every transaction.
var (
	Transactions = Lists.Declare(1, func(*Record) bool { return true })
)
