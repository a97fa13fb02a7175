package ledger

import (
	"encoding/hex"
	"time"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// ClaimKind is the kind of unique key that a claim takes.
type ClaimKind byte

// The kinds of claims.
const (
	ClaimTxID        ClaimKind = 't' // partner number + txid → transaction id
	ClaimLogin       ClaimKind = 'l' // login → partner or user id
	ClaimSettlement  ClaimKind = 's' // partner or terminal + reference → settlement id
	ClaimKeyHash     ClaimKind = 'k' // hash of a key or token → its record's id
	ClaimNumber      ClaimKind = 'n' // partner number → partner's record id (platform)
	ClaimAddress     ClaimKind = 'a' // kind and id of a record with a public address → its organization (platform)
	ClaimIdempotency ClaimKind = 'i'
)

// Claim takes a unique key forever. If another Change owns the key already, the whole Change is refused with
// ClaimTaken, and the receipt has that owner.
type Claim struct {
	Org   ID
	Kind  ClaimKind
	Key   string
	Owner []byte
}

// FundsGuard refuses a Change with InsufficientFunds if, after it, the account's available
// balance would be less than minus Overdraft.
type FundsGuard struct {
	Org       ID
	Account   Account
	Overdraft money.Amount
}

// CounterGuard adds to a persisted counter and refuses the Change with Refuse if the counter
// would exceed Max. A guard with Release subtracts what an earlier Change added, and never refuses.
type CounterGuard struct {
	Org     ID
	Key     string // for example "headroom/prod/USD/"
	Window  string // for example "2026-11" for a calendar month; empty: unlimited
	Add     money.Amount
	Max     money.Amount
	Release bool // subtracts Add instead of adding it
	Refuse  Code // LimitExceeded, OutOfRange or Conflict
}

// MaxAmount is the largest amount of a transaction, in minor units: 10^72.
var MaxAmount = money.MustParse("1" + zeros72)

const zeros72 = "000000000000000000000000000000000000000000000000000000000000000000000000"

// Headroom returns the guard that keeps the totals of an asset from overflowing. Its counter is the sum of all
// settled and pending amounts. The counter stays below 2^256, and no total can exceed it.
func Headroom(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, Max: maxHeadroom, Refuse: OutOfRange}
}

// maxHeadroom is less than the largest value of a counter. Only an outcome, which is never
// refused, may fill the counter completely.
var maxHeadroom = func() money.Amount {
	a, err := money.Max.Sub(money.FromUint64(1))
	assert.NoError(err)
	return a
}()

// HeadroomBack returns the guard that releases what Headroom reserved for a charge that has moved no money.
func HeadroomBack(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, Release: true}
}

// UnderWayKey is the key of the counter of an organization's contract actions that are running in batches. While it
// is above zero no month can be closed: the batches take effect on the day of the action, which may be in that
// month.
const UnderWayKey = "contracts/under_way"

// BatchesBegin returns the guard that counts an action in batches when it begins.
func BatchesBegin(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: UnderWayKey, Add: money.FromUint64(1), Max: money.Max, Refuse: OutOfRange}
}

// BatchesEnd returns the guard that removes an action in batches from the counter when it ends.
func BatchesEnd(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: UnderWayKey, Add: money.FromUint64(1), Release: true}
}

// NoBatches returns a guard that refuses a Change with Conflict while an action in batches is under way.
func NoBatches(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: UnderWayKey, Refuse: Conflict}
}

// A payment link has three counters: the number of its payments, the number of those that were charged, and the sum of
// the charged amounts.

// LinkBegunKey returns the key of the counter of a link's payments, whatever became of them.
func LinkBegunKey(link ID) string { return LinkPrefix + "begun/" + link.String() }

// LinkChargedKey returns the key of the counter of a link's charged payments.
func LinkChargedKey(link ID) string { return LinkPrefix + "charged/" + link.String() }

// LinkAmountKey returns the key of the counter of the amounts that a link's payments charged.
func LinkAmountKey(link ID) string { return LinkPrefix + "amount/" + link.String() }

// LinkPrefix begins the keys of the counters of links.
const LinkPrefix = "link/"

// LinkBegins returns the guard that counts a payment of a link when it begins.
func LinkBegins(org, link ID) CounterGuard {
	return CounterGuard{Org: org, Key: LinkBegunKey(link), Add: money.FromUint64(1), Max: money.Max, Refuse: OutOfRange}
}

// LinkIsUnpaid returns a guard that refuses a Change with Conflict once a payment of the link has begun.
func LinkIsUnpaid(org, link ID) CounterGuard {
	return CounterGuard{Org: org, Key: LinkBegunKey(link), Refuse: Conflict}
}

// LinkCharged returns the guards that count a charged payment of a link and its amount.
func LinkCharged(org, link ID, amount money.Amount) [2]CounterGuard {
	return [...]CounterGuard{
		{Org: org, Key: LinkChargedKey(link), Add: money.FromUint64(1), Max: money.Max, Refuse: OutOfRange},
		{Org: org, Key: LinkAmountKey(link), Add: amount, Max: money.Max, Refuse: OutOfRange},
	}
}

// A volume limit has two counters for each window and subject: the amounts reserved or settled,
// which the limit bounds, and the settled part of them.

// VolumeKey returns the key of the first of a limit's two counters. The window is a UTC day, month
// or year (WindowNumber). The subject identifies one card, address or e-mail, and is empty for a limit
// of the whole partner.
func VolumeKey(limit ID, window, subject string) string {
	counted, _ := VolumeKeys(limit, window, subject)
	return counted
}

// SettledKey returns the key of the second of a limit's two counters.
func SettledKey(limit ID, window, subject string) string {
	_, settled := VolumeKeys(limit, window, subject)
	return settled
}

// VolumeKeys returns VolumeKey and SettledKey, built in one allocation, because a payment under
// a limit needs both.
func VolumeKeys(limit ID, window, subject string) (counted, settled string) {
	const first, second = "volume/", "settled/"
	var room [256]byte
	keys := append(room[:0], first...)
	keys = appendCounter(keys, limit, window, subject)
	n := len(keys)
	keys = append(keys, second...)
	keys = append(keys, keys[len(first):n]...)
	joined := string(keys)
	return joined[:n], joined[n:]
}

// appendCounter appends <limit>/<window>/<subject>.
func appendCounter(key []byte, limit ID, window, subject string) []byte {
	for i, from := range [...]int{0, 4, 6, 8, 10} { // the groups of a UUID's text form
		if i > 0 {
			key = append(key, '-')
		}
		key = hex.AppendEncode(key, limit[from:[...]int{4, 6, 8, 10, 16}[i]])
	}
	key = append(append(key, '/'), window...)
	return append(append(key, '/'), subject...)
}

// DayWindow returns the window of a UTC day, for example "2026-11-21".
func DayWindow(d Date) string { return d.String() }

// WindowNumber encodes a window as a small number, for storage. A window is a UTC day ("2026-11-21"), calendar month
// ("2026-11") or year ("2026"): its number is three times the units since 1970, plus 0, 1 or 2. ok is false for any
// other text, and for years outside 1970 to 9999.
func WindowNumber(window string) (n uint64, ok bool) {
	for i, layout := range windowLayouts {
		if len(window) != len(layout) {
			continue
		}
		first, err := time.Parse(layout, window)
		if err != nil || first.Year() < 1970 {
			return 0, false
		}
		units := [...]int{int(DateOf(first)) - 1, (first.Year()-1970)*12 + int(first.Month()) - 1, first.Year() - 1970}
		return 3*uint64(units[i]) + uint64(i), true
	}
	return 0, false
}

var windowLayouts = [...]string{time.DateOnly, "2006-01", "2006"}

// WindowOf returns the window that WindowNumber encodes as n; ok is false for a number that it
// never returns.
func WindowOf(n uint64) (window string, ok bool) {
	const lastDay = 2_932_896 // 9999-12-31, which is after the last month and year by number too
	unit, units := n%3, n/3
	if units > lastDay {
		return "", false
	}
	first := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	switch unit {
	case 0:
		first = first.AddDate(0, 0, int(units))
	case 1:
		first = first.AddDate(0, int(units), 0)
	case 2:
		first = first.AddDate(int(units), 0, 0)
	}
	if first.Year() > 9999 {
		return "", false
	}
	return first.Format(windowLayouts[unit]), true
}

func headroomKey(a money.Asset) string { return "headroom/" + a.String() }
