package balances

import (
	"math"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// AsOf selects accounts and the time of their totals.
type AsOf struct {
	Env    money.Env
	Prefix string          // prefix of the paths of the accounts; empty: all accounts
	After  *ledger.Account // begin after this account; nil: begin with the first account
	At     ledger.Micros   // count everything booked at or before this instant
	On     ledger.Date     // count everything that takes effect on or before this day instead; 0: use At
	Seen   ledger.Micros   // with On, count only what was booked at or before this instant; 0: no bound
	Paged  bool            // the caller stops after a page and continues in another call
}

// end returns the instant up to which all booked lines are read.
func (q *AsOf) end() ledger.Micros {
	if q.On != 0 {
		return min(endOf(q.On), q.seen())
	}
	return q.At
}

// endOf returns a day's last instant.
func endOf(day ledger.Date) ledger.Micros { return ledger.MicrosOf((day + 1).Time()) - 1 }

// seen returns the instant after which no booked line counts, whatever its effective day is.
func (q *AsOf) seen() ledger.Micros {
	if q.Seen != 0 {
		return q.Seen
	}
	return math.MaxInt64
}

// keyRange is a range of accounts, by their keys in checkpoints.
type keyRange struct {
	from  string // inclusive
	until string // exclusive; empty: no bound
}

func (r keyRange) has(key string) bool { return key >= r.from && (r.until == "" || key < r.until) }

// keyRange returns the range of the selected accounts.
func (q *AsOf) keyRange() keyRange {
	prefix := append([]byte{byte(q.Env)}, q.Prefix...)
	r := keyRange{from: string(prefix)}
	r.until = string(store.After(prefix))
	if q.After != nil {
		r.from = max(r.from, string(store.AccountKey(nil, *q.After))+"\x00")
	}
	return r
}

// keyRangeOf returns the range that contains one account.
func keyRangeOf(a ledger.Account) keyRange {
	key := string(store.AccountKey(nil, a))
	return keyRange{from: key, until: key + "\x00"}
}
