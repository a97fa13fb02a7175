package check

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"strings"
)

// net is a posting's amount, negative for a credit.
func net(p *ledger.Posting) money.Signed {
	return money.Signed{Negative: p.Side == ledger.Credit, Abs: p.Amount}
}

func sameAsset(postings []ledger.Posting) bool {
	for i := range postings {
		if postings[i].Asset != postings[0].Asset {
			return false
		}
	}
	return true
}

const providerHead = "A:provider:"

// onProvider is what an entry moves on a provider's account.
func onProvider(postings []ledger.Posting) (money.Amount, ledger.Side) {
	sum := sumOf(postings, func(p *ledger.Posting) bool { return strings.HasPrefix(string(p.Account), providerHead) })
	if sum.Negative {
		return sum.Abs, ledger.Credit
	}
	return sum.Abs, ledger.Debit
}

// sumOf is what the postings of some account debit, negative for a credit.
func sumOf(postings []ledger.Posting, of func(*ledger.Posting) bool) (sum money.Signed) {
	for i := range postings {
		if of(&postings[i]) {
			sum, _ = sum.Add(net(&postings[i])) // unbalanced has looked at the range
		}
	}
	return sum
}

// hold is an open pending entry.
type hold struct {
	source   ledger.Source
	postings []ledger.Posting
	forced   bool
}
