package ledger

import (
	"encoding/hex"
	"time"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// ClaimKind is the kind of a claim's unique key.
type ClaimKind byte

// The kinds of claims.
const (
	ClaimTxID        ClaimKind = 't' // partner number + txid → transaction id
	ClaimLogin       ClaimKind = 'l' // login → partner or user id
	ClaimReference   ClaimKind = 'r' // reference by which the provider knows the charge of a second or later attempt → transaction id
	ClaimSettlement  ClaimKind = 's' // partner or terminal + reference → settlement id
	ClaimKeyHash     ClaimKind = 'k' // hash of a key or token → its record's id
	ClaimNumber      ClaimKind = 'n' // partner number → partner's record id (platform)
	ClaimAddress     ClaimKind = 'a' // kind and id of a record with a public address → its organization (platform)
	ClaimIdempotency ClaimKind = 'i' // idempotency key → the record that the request wrote
)

// Claim takes a unique key forever. It is part of a Change (everything that one decision makes durable, all or
// nothing). If an earlier Change has taken the key, the journal's writer refuses the whole Change with ClaimTaken,
// and the receipt of the refused Change names the key's owner.
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

// CounterGuard adds an amount to a stored counter, and refuses the Change with RefusalCode if the counter would exceed Max. A
// guard with IsRelease subtracts an amount that an earlier Change added, and never refuses.
type CounterGuard struct {
	Org         ID
	Key         string // for example "headroom/prod/USD/"
	Window      string // for example "2026-11" for a calendar month; empty: unlimited
	Add         money.Amount
	Max         money.Amount
	IsRelease   bool // subtracts Add instead of adding it
	RefusalCode Code // LimitExceeded, OutOfRange or Conflict
}

// MaxAmount is the largest amount of a transaction, in minor units: 10^72.
var MaxAmount = money.MustParse("1" + zeros72)

const zeros72 = "000000000000000000000000000000000000000000000000000000000000000000000000"

// Headroom returns the guard that keeps the totals of an asset from overflowing. Its counter is the sum of all
// settled and pending amounts. The counter stays below 2^256, and no total can exceed the counter.
func Headroom(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, Max: maxHeadroom, RefusalCode: OutOfRange}
}

// maxHeadroom is one less than the largest value of a counter. Only the outcome of a charge, which is never
// refused, may raise the counter to its largest value.
var maxHeadroom = func() money.Amount {
	a, err := money.Max.Sub(money.FromUint64(1))
	assert.NoError(err)
	return a
}()

// ReleaseHeadroom returns the guard that releases an amount that Headroom reserved for a charge that has moved no money.
func ReleaseHeadroom(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, IsRelease: true}
}

// BatchedActionsKey is the key of an organization's counter of contract actions that are running in batches (several Changes,
// each for some of the holders of shares). While the counter is above zero, no month can be closed, because the batches are
// booked on the action's day, which may be in that month.
const BatchedActionsKey = "contracts/under_way"

// CountBatchedAction returns the guard that adds one to the counter with the key BatchedActionsKey. It is for the Change with
// which an action in batches begins.
func CountBatchedAction(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: BatchedActionsKey, Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange}
}

// UncountBatchedAction returns the guard that subtracts one from the counter with the key BatchedActionsKey. It is for the
// Change with which an action in batches ends.
func UncountBatchedAction(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: BatchedActionsKey, Add: money.FromUint64(1), IsRelease: true}
}

// RefuseDuringBatches returns a guard that refuses a Change with Conflict while any action of the organization is
// running in batches.
func RefuseDuringBatches(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: BatchedActionsKey, RefusalCode: Conflict}
}

// A payment link has three counters of its payments: their number, the number of charged payments, and the sum of the
// charged amounts.

// LinkBegunKey returns the key of the counter of all payments of a link, whatever their outcome.
func LinkBegunKey(link ID) string { return LinkPrefix + "begun/" + link.String() }

// LinkChargedKey returns the key of the counter of a link's charged payments.
func LinkChargedKey(link ID) string { return LinkPrefix + "charged/" + link.String() }

// LinkAmountKey returns the key of the counter of the amounts that a link's payments charged.
func LinkAmountKey(link ID) string { return LinkPrefix + "amount/" + link.String() }

// LinkPrefix is the prefix of a link's three counters of payments (LinkBegunKey, LinkChargedKey, LinkAmountKey). The key of
// LinkAbandonedKey does not have this prefix.
const LinkPrefix = "link/"

// LinkBegins returns the guards that count a payment of a link when the payment begins. They refuse the Change with
// Conflict if the link has changed to another asset since the payer saw the link's page.
func LinkBegins(org, link ID, asset money.Asset) []CounterGuard {
	return []CounterGuard{
		{Org: org, Key: LinkBegunKey(link), Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange},
		{Org: org, Key: LinkAbandonedKey(link, asset), RefusalCode: Conflict},
	}
}

// LinkAbandonedKey returns the key of a link's counter for an asset. The counter is above zero if the link's amounts were in
// this asset before and are in another asset now.
func LinkAbandonedKey(link ID, asset money.Asset) string {
	return "abandoned/" + link.String() + "/" + string(asset.Currency) + "/" + string(asset.Network)
}

// LinkAbandons returns the guard for a Change that replaces the link's asset. The argument asset is the old asset.
func LinkAbandons(org, link ID, asset money.Asset) CounterGuard {
	return CounterGuard{Org: org, Key: LinkAbandonedKey(link, asset), Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange}
}

// LinkResumes returns the guard for a Change that gives a link an asset that the link has had before.
func LinkResumes(org, link ID, asset money.Asset) CounterGuard {
	return CounterGuard{Org: org, Key: LinkAbandonedKey(link, asset), Add: money.FromUint64(1), IsRelease: true}
}

// LinkHasNoPayments returns a guard that refuses a Change with LimitExceeded once a payment of the link has begun.
func LinkHasNoPayments(org, link ID) CounterGuard {
	return CounterGuard{Org: org, Key: LinkBegunKey(link), RefusalCode: LimitExceeded}
}

// LinkCharged returns the guards that count a charged payment of a link and its amount.
func LinkCharged(org, link ID, amount money.Amount) [2]CounterGuard {
	return [...]CounterGuard{
		{Org: org, Key: LinkChargedKey(link), Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange},
		{Org: org, Key: LinkAmountKey(link), Add: amount, Max: money.Max, RefusalCode: OutOfRange},
	}
}

// A volume limit has two counters for each window and subject. The first is the sum of the reserved and the
// settled amounts, which the limit bounds. The second is the settled part of that sum.

// VolumeKey returns the key of a limit's counter of reserved or settled amounts. The window is a UTC day, month
// or year (WindowNumber). The subject identifies one card, address or e-mail, and is empty for a limit
// of the whole partner.
func VolumeKey(limit ID, window, subject string) string {
	volumeKey, _ := VolumeKeys(limit, window, subject)
	return volumeKey
}

// SettledKey returns the key of a limit's counter of settled amounts.
func SettledKey(limit ID, window, subject string) string {
	_, settledKey := VolumeKeys(limit, window, subject)
	return settledKey
}

// VolumeKeys returns the results of VolumeKey and SettledKey, built in one allocation, because a payment under
// a limit needs both.
func VolumeKeys(limit ID, window, subject string) (volumeKey, settledKey string) {
	const volumePrefix, settledPrefix = "volume/", "settled/"
	var buffer [256]byte
	keys := append(buffer[:0], volumePrefix...)
	keys = appendCounterKey(keys, limit, window, subject)
	volumeKeyLength := len(keys)
	keys = append(keys, settledPrefix...)
	keys = append(keys, keys[len(volumePrefix):volumeKeyLength]...)
	joined := string(keys)
	return joined[:volumeKeyLength], joined[volumeKeyLength:]
}

// appendCounterKey appends <limit>/<window>/<subject>.
func appendCounterKey(key []byte, limit ID, window, subject string) []byte {
	key = append(append(appendID(key, limit), '/'), window...)
	return append(append(key, '/'), subject...)
}

// appendID appends the text form of an id, with hyphens.
func appendID(dst []byte, id ID) []byte {
	for i, start := range [...]int{0, 4, 6, 8, 10} { // the groups of a UUID's text form
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[start:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return dst
}

// DayWindow returns the window of a UTC day, for example "2026-11-21".
func DayWindow(d Date) string { return d.String() }

// WindowNumber encodes a window as a small number, for storage. A window is a UTC day ("2026-11-21"), calendar month
// ("2026-11") or year ("2026"). Its number is three times the days, months or years since 1970, plus 0 for a day, 1 for a
// month or 2 for a year. ok is false for any other text, and for years outside 1970 to 9999.
func WindowNumber(window string) (n uint64, ok bool) {
	for i, layout := range windowLayouts {
		if len(window) != len(layout) {
			continue
		}
		firstDay, err := time.Parse(layout, window)
		if err != nil || firstDay.Year() < 1970 {
			return 0, false
		}
		units := [...]int{int(DateOf(firstDay)) - 1, (firstDay.Year()-1970)*12 + int(firstDay.Month()) - 1, firstDay.Year() - 1970}
		return 3*uint64(units[i]) + uint64(i), true
	}
	return 0, false
}

var windowLayouts = [...]string{time.DateOnly, "2006-01", "2006"}

// WindowOf returns the window that WindowNumber encodes as n; ok is false for a number that WindowNumber never
// returns.
func WindowOf(n uint64) (window string, ok bool) {
	const maxUnits = 2_932_896 // days from 1970 to 9999-12-31; there are fewer months and years
	unit, units := n%3, n/3
	if units > maxUnits {
		return "", false
	}
	firstDay := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	switch unit {
	case 0:
		firstDay = firstDay.AddDate(0, 0, int(units))
	case 1:
		firstDay = firstDay.AddDate(0, int(units), 0)
	case 2:
		firstDay = firstDay.AddDate(int(units), 0, 0)
	}
	if firstDay.Year() > 9999 {
		return "", false
	}
	return firstDay.Format(windowLayouts[unit]), true
}

func headroomKey(a money.Asset) string {
	var buffer [64]byte
	return string(a.AppendString(append(buffer[:0], "headroom/"...)))
}
