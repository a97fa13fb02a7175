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
	ClaimTxID        ClaimKind = 't' // partner number and txid → transaction id
	ClaimLogin       ClaimKind = 'l' // login → partner or user id
	ClaimReference   ClaimKind = 'r' // provider's reference for the charge of a second or later attempt → transaction id
	ClaimSettlement  ClaimKind = 's' // partner or terminal, and reference → settlement id
	ClaimKeyHash     ClaimKind = 'k' // hash of a key or token → id of its record
	ClaimNumber      ClaimKind = 'n' // partner number → id of the partner's record (in the platform's journal)
	ClaimAddress     ClaimKind = 'a' // record with a public address → id of its organization (in the platform's journal)
	ClaimIdempotency ClaimKind = 'i' // idempotency key → the record that the request wrote
	ClaimReport      ClaimKind = 'R' // terminal, format, mapping and hash of a settlement report's file → report id
	ClaimReportLine  ClaimKind = 'L' // terminal and line of a settlement report → report id
	ClaimMatched     ClaimKind = 'M' // terminal and entry on its provider's account → report or difference id that explains the entry
	ClaimMissing     ClaimKind = 'N' // terminal and entry that a report lacks → id of the difference
)

// Claim takes a unique key for ever. A Claim is part of a Change (everything that one decision makes durable, all or nothing).
// If an earlier Change has taken the key, the journal's writer refuses the whole Change with the code ClaimTaken, and the
// receipt names the owner of the key.
type Claim struct {
	Org   ID
	Kind  ClaimKind
	Key   string
	Owner []byte
}

// FundsGuard limits how far a Change may overdraw an account. If the account's available balance after the Change would be less
// than minus Overdraft, the Change is refused with the code InsufficientFunds.
type FundsGuard struct {
	Org       ID
	Account   Account
	Overdraft money.Amount
}

// CounterGuard adds an amount to a stored counter. If the counter would exceed Max, the guard refuses the Change with
// RefusalCode. A guard with IsRelease subtracts an amount that an earlier Change has added, and never refuses the Change.
type CounterGuard struct {
	Org         ID
	Key         string // for example "headroom/prod/USD/"
	Window      string // for example "2026-11" for a calendar month; empty if the counter is for all time
	Add         money.Amount
	Max         money.Amount
	IsRelease   bool // subtracts Add instead of adding it
	RefusalCode Code // LimitExceeded, OutOfRange or Conflict
}

// MaxAmount is the maximum amount of a transaction: 10^72 minor units.
var MaxAmount = money.MustParse("1" + zeros72)

const zeros72 = "000000000000000000000000000000000000000000000000000000000000000000000000"

// ReserveHeadroom returns the guard that prevents overflows of an asset's totals. The counter of the guard is the sum of all
// settled and pending amounts. No total can exceed the counter, and the guard keeps the counter below 2^256.
func ReserveHeadroom(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, Max: maxHeadroom, RefusalCode: OutOfRange}
}

// maxHeadroom is one less than the maximum value of a counter. Only the outcome of a charge may raise the counter to its
// maximum value, because the outcome of a charge is never refused.
var maxHeadroom = func() money.Amount {
	a, err := money.Max.Sub(money.FromUint64(1))
	assert.NoError(err)
	return a
}()

// ReleaseHeadroom returns the guard that releases an amount that ReserveHeadroom has reserved. It is for charges that have
// moved no money.
func ReleaseHeadroom(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, IsRelease: true}
}

// BatchedActionsKey is the key of a counter in each organization. If a contract has many holders of shares, an action is
// carried out in batches: several Changes, each for some of the holders. The counter is the number of such actions that have
// not finished. While the counter is above zero, no month can be closed, because later batches of the action may still be
// booked on a day in this month.
const BatchedActionsKey = "contracts/under_way"

// CountBatchedAction returns the guard that adds one to the counter with the key BatchedActionsKey. It belongs in the first
// Change of an action that is carried out in batches.
func CountBatchedAction(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: BatchedActionsKey, Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange}
}

// UncountBatchedAction returns the guard that subtracts one from the counter with the key BatchedActionsKey. It belongs in the
// last Change of an action that is carried out in batches.
func UncountBatchedAction(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: BatchedActionsKey, Add: money.FromUint64(1), IsRelease: true}
}

// RefuseDuringBatches returns a guard that refuses a Change with Conflict while an action of the organization is being carried
// out in batches.
func RefuseDuringBatches(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: BatchedActionsKey, RefusalCode: Conflict}
}

// A payment link has three counters: the number of its payments, the number of its charged payments, and the sum of the charged
// amounts.

// LinkPaymentsKey returns the key of the counter of all payments of a link, including those that failed.
func LinkPaymentsKey(link ID) string { return LinkPrefix + "begun/" + link.String() }

// LinkChargesKey returns the key of the counter of a link's charged payments.
func LinkChargesKey(link ID) string { return LinkPrefix + "charged/" + link.String() }

// LinkAmountKey returns the key of the counter that sums the charged amounts of a link's payments.
func LinkAmountKey(link ID) string { return LinkPrefix + "amount/" + link.String() }

// LinkPrefix is the prefix of the keys LinkPaymentsKey, LinkChargesKey and LinkAmountKey. The key LinkFormerAssetKey does not
// have this prefix.
const LinkPrefix = "link/"

// CountLinkPayment returns the guards for the Change with which a payment of a link begins. They count the payment. If the
// asset of the link was changed after the payer saw the link's page, they refuse the Change with Conflict.
func CountLinkPayment(org, link ID, asset money.Asset) []CounterGuard {
	return []CounterGuard{
		{Org: org, Key: LinkPaymentsKey(link), Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange},
		{Org: org, Key: LinkFormerAssetKey(link, asset), RefusalCode: Conflict},
	}
}

// LinkFormerAssetKey returns the key of a link's counter for an asset. If the counter is above zero, the link had this asset in
// the past and has a different asset now.
func LinkFormerAssetKey(link ID, asset money.Asset) string {
	return "abandoned/" + link.String() + "/" + string(asset.Currency) + "/" + string(asset.Network)
}

// AddLinkFormerAsset returns the guard for a Change that replaces the asset of a link. The argument asset is the old asset.
func AddLinkFormerAsset(org, link ID, asset money.Asset) CounterGuard {
	return CounterGuard{Org: org, Key: LinkFormerAssetKey(link, asset), Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange}
}

// RemoveLinkFormerAsset returns the guard for a Change that sets the asset of a link to an asset that the link had in the past.
func RemoveLinkFormerAsset(org, link ID, asset money.Asset) CounterGuard {
	return CounterGuard{Org: org, Key: LinkFormerAssetKey(link, asset), Add: money.FromUint64(1), IsRelease: true}
}

// RefuseIfLinkHasPayments returns a guard that refuses a Change with LimitExceeded if a payment of the link has begun.
func RefuseIfLinkHasPayments(org, link ID) CounterGuard {
	return CounterGuard{Org: org, Key: LinkPaymentsKey(link), RefusalCode: LimitExceeded}
}

// CountLinkCharge returns the guards that count a charged payment of a link and add its amount to the sum.
func CountLinkCharge(org, link ID, amount money.Amount) [2]CounterGuard {
	return [...]CounterGuard{
		{Org: org, Key: LinkChargesKey(link), Add: money.FromUint64(1), Max: money.Max, RefusalCode: OutOfRange},
		{Org: org, Key: LinkAmountKey(link), Add: amount, Max: money.Max, RefusalCode: OutOfRange},
	}
}

// A volume limit has two counters for each window and subject. The first counter is the sum of reserved and settled amounts.
// This sum must not exceed the limit. The second counter is the sum of settled amounts alone.

// VolumeKey returns the key of the counter that sums a limit's reserved and settled amounts. The window is a UTC day, month or
// year (WindowNumber). The subject identifies a card, an address or an e-mail. If the limit applies to the whole partner, the
// subject is empty.
func VolumeKey(limit ID, window, subject string) string {
	volumeKey, _ := VolumeKeys(limit, window, subject)
	return volumeKey
}

// SettledKey returns the key of the counter that sums a limit's settled amounts.
func SettledKey(limit ID, window, subject string) string {
	_, settledKey := VolumeKeys(limit, window, subject)
	return settledKey
}

// VolumeKeys returns the results of VolumeKey and SettledKey. A payment under a limit needs both keys, and VolumeKeys makes
// both in one allocation.
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

// appendID appends an id as text, with hyphens.
func appendID(dst []byte, id ID) []byte {
	for i, start := range [...]int{0, 4, 6, 8, 10} { // groups of bytes that hyphens separate in the text of a UUID
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[start:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return dst
}

// DayWindow returns the window of a UTC day, for example "2026-11-21".
func DayWindow(d Date) string { return d.String() }

// WindowNumber encodes a window as a small number, which needs little space in the store. A window is a UTC day ("2026-11-21"),
// month ("2026-11") or year ("2026"). The number is three times the number of days, months or years since 1970, plus 0 for a
// day, 1 for a month or 2 for a year. If the text is not a window, or if the year is not from 1970 to 9999, ok is false.
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

// WindowOf returns the window that WindowNumber encodes as n. If WindowNumber never returns n, ok is false.
func WindowOf(n uint64) (window string, ok bool) {
	const maxUnits = 2_932_896 // number of days from 1970 to 9999-12-31; the numbers of months and years are smaller
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
