package period

import (
	"crypto/sha256"
	"hash"
	"strings"

	"mizan/internal/assert"
	"mizan/ledger"
)

// BalanceHasher computes the hash of a trial balance in the following text form:
//
//	mizan period 1
//	organization 7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01
//	month 2026-10
//	prod	A:bank	EUR		1000	0	0	0
//
// Every line ends with a line feed. The first three lines contain the version of the form, the organization and the
// month. Each of the other lines is a row of the trial balance with tabs between its fields: env, account, currency,
// network (empty if none), debits_posted, credits_posted, debits_pending, credits_pending. Amounts are in minor units.
// Rows of prod come before rows of test. Within an environment, rows are sorted by account, currency and network, in byte
// order. Rows in which all amounts are zero are omitted.
type BalanceHasher struct {
	hash        hash.Hash
	lastAccount ledger.Account
	line        []byte
	rows        uint64
}

// NewBalanceHasher returns the trial balance of an organization at the end of a month, still without rows.
func NewBalanceHasher(org ledger.ID, m Month) *BalanceHasher {
	b := &BalanceHasher{hash: sha256.New()}
	b.hash.Write([]byte("mizan period 1\norganization " + org.String() + "\nmonth " + m.String() + "\n"))
	return b
}

// Add adds an account. Accounts must be added in the order of Compare.
func (b *BalanceHasher) Add(account ledger.Account, totals *ledger.Totals) {
	assert.That(b.lastAccount == (ledger.Account{}) || Compare(b.lastAccount, account) < 0, "period: %s %v must come after %s %v", account.Path, account.Asset, b.lastAccount.Path, b.lastAccount.Asset)
	b.lastAccount = account
	if *totals == (ledger.Totals{}) {
		return
	}
	b.line = append(append(b.line[:0], account.Asset.Env.String()...), '\t')
	b.line = append(append(b.line, account.Path...), '\t')
	b.line = append(append(b.line, account.Asset.Currency...), '\t')
	b.line = append(append(b.line, account.Asset.Network...), '\t')
	b.line = append(append(b.line, totals.DebitsPosted.String()...), '\t')
	b.line = append(append(b.line, totals.CreditsPosted.String()...), '\t')
	b.line = append(append(b.line, totals.DebitsPending.String()...), '\t')
	b.line = append(append(b.line, totals.CreditsPending.String()...), '\n')
	b.hash.Write(b.line)
	b.rows++
}

// Sum returns the hash and the number of rows.
func (b *BalanceHasher) Sum() (sum [sha256.Size]byte, rows uint64) {
	b.hash.Sum(sum[:0])
	return sum, b.rows
}

// Compare defines the order of the rows of a trial balance. It returns a negative number if a comes before b.
func Compare(a, b ledger.Account) int {
	if a.Asset.Env != b.Asset.Env {
		return int(a.Asset.Env) - int(b.Asset.Env)
	}
	if c := strings.Compare(string(a.Path), string(b.Path)); c != 0 {
		return c
	}
	if c := strings.Compare(string(a.Asset.Currency), string(b.Asset.Currency)); c != 0 {
		return c
	}
	return strings.Compare(string(a.Asset.Network), string(b.Asset.Network))
}
