package scan

import (
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Net returns a posting's amount, negative for a credit.
func Net(p *ledger.Posting) money.Signed {
	return money.Signed{Negative: p.Side == ledger.Credit, Abs: p.Amount}
}

// SameAsset tells whether all postings are in one asset.
func SameAsset(postings []ledger.Posting) bool {
	for i := range postings {
		if postings[i].Asset != postings[0].Asset {
			return false
		}
	}
	return true
}

// ProviderPrefix is the path prefix of the accounts that say how much each provider owes.
const ProviderPrefix = "A:provider:"

// NetOnProvider returns the net amount that an entry posts on providers' accounts. The side says whether the net amount
// is a debit or a credit.
func NetOnProvider(postings []ledger.Posting) (money.Amount, ledger.Side) {
	sum := SumOf(postings, func(p *ledger.Posting) bool { return strings.HasPrefix(string(p.Account), ProviderPrefix) })
	if sum.Negative {
		return sum.Abs, ledger.Credit
	}
	return sum.Abs, ledger.Debit
}

// SumOf returns the debits minus the credits of the selected postings.
func SumOf(postings []ledger.Posting, isSelected func(*ledger.Posting) bool) (sum money.Signed) {
	for i := range postings {
		if isSelected(&postings[i]) {
			sum, _ = sum.Add(Net(&postings[i])) // PostingsFault has checked the range
		}
	}
	return sum
}

// Hold is an open pending entry.
type Hold struct {
	Source   ledger.Source
	Postings []ledger.Posting
	IsForced bool // the money was held even if too little was available
}

// PostingsFault says what is wrong with an entry's postings. If nothing is wrong, it returns an empty string.
func PostingsFault(postings []ledger.Posting) string {
	if len(postings) < 2 {
		return "has fewer than two postings"
	}
	for i := range postings {
		p := &postings[i]
		switch {
		case p.Amount.IsZero():
			return "has a posting of zero"
		case p.Side != ledger.Debit && p.Side != ledger.Credit:
			return "has a posting without a side"
		case !p.Account.IsValid():
			return "has a posting without an account"
		case p.Asset.Env != postings[0].Asset.Env:
			return "crosses environments"
		}
	}
	for i := range postings {
		var memorandumSum, realSum money.Signed
		for k := range postings {
			if postings[k].Asset != postings[i].Asset {
				continue
			}
			sum := &realSum
			if postings[k].Account.Class() == ledger.ClassMemorandum {
				sum = &memorandumSum
			}
			var err error
			if *sum, err = sum.Add(Net(&postings[k])); err != nil {
				return "is out of range"
			}
		}
		if !realSum.IsZero() || !memorandumSum.IsZero() {
			return "does not balance in " + postings[i].Asset.String()
		}
		if SameAsset(postings) {
			break // the first sum already covers all postings
		}
	}
	return ""
}
