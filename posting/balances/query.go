package balances

import (
	"math"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// Query selects accounts and the time of their totals.
type Query struct {
	Env           money.Env
	Prefix        string          // select accounts whose paths begin with this prefix; empty: all accounts
	After         *ledger.Account // begin after this account or, if it is a group (see ledger.Path.IsGroup), after the group's last account; nil: begin with the first account
	At            ledger.Micros   // count everything booked at or before this instant
	EffectiveDate ledger.Date     // if set, count everything that takes effect on or before this day, and ignore At
	BookedUntil   ledger.Micros   // if EffectiveDate is set, do not count what was booked after this instant; 0: no bound
	IsPaged       bool            // the caller stops after a page and continues in another call

	Filter   func(ledger.Account) bool // selects accounts; nil: all accounts with the prefix
	Currency *money.Currency           // the currency of all accounts that Filter selects; nil if they may have different currencies
}

// end returns the booked time up to which totals are read. For a balance by effective date, correctForDay then corrects these
// totals.
func (q *Query) end() ledger.Micros {
	if q.EffectiveDate != 0 {
		return min(endOf(q.EffectiveDate), q.cutoff())
	}
	return q.At
}

// endOf returns a day's last instant.
func endOf(day ledger.Date) ledger.Micros { return ledger.MicrosOf((day + 1).Time()) - 1 }

// cutoff returns the instant after which lines are ignored. A line that was booked later does not count, whatever its
// effective day is.
func (q *Query) cutoff() ledger.Micros {
	if q.BookedUntil != 0 {
		return q.BookedUntil
	}
	return math.MaxInt64
}

// keyRange is a range of accounts, ordered by key (see store.AccountKey).
type keyRange struct {
	from  string // inclusive
	until string // exclusive; empty: no bound
}

func (r keyRange) has(key string) bool { return key >= r.from && (r.until == "" || key < r.until) }

// keyRange returns the range of the selected accounts.
func (q *Query) keyRange() keyRange {
	prefix := append([]byte{byte(q.Env)}, q.Prefix...)
	r := keyRange{from: string(prefix)}
	r.until = string(store.After(prefix))
	if after := q.after(); after != nil {
		r.from = max(r.from, string(store.AccountKey(nil, *after))+"\x00")
	}
	return r
}

// after returns the account after which the selected accounts begin, or nil if they begin with the first account. If q.After
// is a group, after returns a made-up account that is ordered after all accounts of the group.
func (q *Query) after() *ledger.Account {
	if q.After == nil || !q.After.Path.IsGroup() {
		return q.After
	}
	const afterAllSegments = "\x7f" // no path contains this character
	last := ledger.Account{Path: q.After.Path + afterAllSegments}
	last.Asset.Env = q.Env
	return &last
}

// selects tells whether the query selects an account whose path begins with q.Prefix.
func (q *Query) selects(a ledger.Account) bool { return q.Filter == nil || q.Filter(a) }

// keyRangeOf returns the range that contains one account.
func keyRangeOf(a ledger.Account) keyRange {
	key := string(store.AccountKey(nil, a))
	return keyRange{from: key, until: key + "\x00"}
}
