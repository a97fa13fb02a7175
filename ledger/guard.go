package ledger

import (
	"encoding/hex"
	"time"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// ClaimKind says what kind of unique key a claim is.
type ClaimKind byte

// The kinds of claims.
const (
	ClaimTxID        ClaimKind = 't' // partner number + txid → transaction id
	ClaimLogin       ClaimKind = 'l' // login → partner or user id
	ClaimSettlement  ClaimKind = 's' // partner or terminal + reference → settlement id
	ClaimKeyHash     ClaimKind = 'k' // hash of a key or token → its record's id
	ClaimNumber      ClaimKind = 'n' // partner number → partner's record id (platform)
	ClaimIdempotency ClaimKind = 'i'
)

// Claim takes a unique key for ever. If it has an owner the whole Change is
// refused with ClaimTaken and the receipt carries the owner.
type Claim struct {
	Org   ID
	Kind  ClaimKind
	Key   string
	Owner []byte
}

// FundsGuard refuses a Change with InsufficientFunds if, after it, what is
// available on the account would be less than minus Overdraft.
type FundsGuard struct {
	Org       ID
	Account   Account
	Overdraft money.Amount
}

// CounterGuard moves a persisted counter and refuses the Change with Refuse if
// it would pass Max. A Release takes back what an earlier Change added and
// can't be refused.
type CounterGuard struct {
	Org     ID
	Key     string // for example "headroom/prod/USD/"
	Window  string // for example "2026-11" for a calendar month; empty: for ever
	Add     money.Amount
	Max     money.Amount
	Release bool // take Add off instead
	Refuse  Code // LimitExceeded, OutOfRange or Conflict
}

// MaxAmount is the largest amount a transaction may have, in minor units.
var MaxAmount = money.MustParse("1" + zeros72)

const zeros72 = "000000000000000000000000000000000000000000000000000000000000000000000000"

// Headroom is the counter that keeps every total of an asset from overflowing:
// the sum of all amounts that were settled or are under way stays below 2^256,
// and no total can be larger than that sum.
func Headroom(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, Max: maxHeadroom, Refuse: OutOfRange}
}

// maxHeadroom is below what a counter can hold: only an outcome, which is never
// refused, fills one to the brim.
var maxHeadroom = func() money.Amount {
	a, err := money.Max.Sub(money.FromUint64(1))
	assert.NoError(err)
	return a
}()

// HeadroomBack gives back what Headroom reserved for something that moved no money.
func HeadroomBack(org ID, asset money.Asset, amount money.Amount) CounterGuard {
	return CounterGuard{Org: org, Key: headroomKey(asset), Add: amount, Release: true}
}

// UnderWayKey is the counter of an organization's actions on contracts that are carried
// out in batches. While there is one, no month is closed: the batches take effect on the
// day of the action, which may be in that month.
const UnderWayKey = "contracts/under_way"

// BatchesBegin counts an action that is carried out in batches, and BatchesEnd takes it
// off again.
func BatchesBegin(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: UnderWayKey, Add: money.FromUint64(1), Max: money.Max, Refuse: OutOfRange}
}

// BatchesEnd is BatchesBegin the other way round.
func BatchesEnd(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: UnderWayKey, Add: money.FromUint64(1), Release: true}
}

// NoBatches refuses a Change with Conflict while an action is carried out in batches.
func NoBatches(org ID) CounterGuard {
	return CounterGuard{Org: org, Key: UnderWayKey, Refuse: Conflict}
}

// A volume limit is two counters a window and subject: what is reserved or
// settled, which the limit bounds, and what of it is settled.

// VolumeKey names the first of a limit's two counters. The window is
// DayWindow's or MonthWindow's; the subject tells one card, address or e-mail
// from another and is empty where the limit is the partner's.
func VolumeKey(limit ID, window, subject string) string {
	counted, _ := VolumeKeys(limit, window, subject)
	return counted
}

// SettledKey names the second of a limit's two counters.
func SettledKey(limit ID, window, subject string) string {
	_, settled := VolumeKeys(limit, window, subject)
	return settled
}

// VolumeKeys are VolumeKey and SettledKey, built in one piece: a payment under a
// limit needs both.
func VolumeKeys(limit ID, window, subject string) (counted, settled string) {
	const first, second = "volume/", "settled/"
	var room [256]byte
	keys := append(room[:0], first...)
	keys = appendCounter(keys, limit, window, subject)
	n := len(keys)
	keys = append(keys, second...)
	keys = append(keys, keys[len(first):n]...)
	both := string(keys)
	return both[:n], both[n:]
}

// appendCounter appends <limit>/<window>/<subject>.
func appendCounter(key []byte, limit ID, window, subject string) []byte {
	for i, from := range [...]int{0, 4, 6, 8, 10} { // as a UUID is written
		if i > 0 {
			key = append(key, '-')
		}
		key = hex.AppendEncode(key, limit[from:[...]int{4, 6, 8, 10, 16}[i]])
	}
	key = append(append(key, '/'), window...)
	return append(append(key, '/'), subject...)
}

// DayWindow is the UTC day of a counter, for example "2026-11-21".
func DayWindow(d Date) string { return d.String() }

// MonthWindow is the UTC calendar month of a counter, for example "2026-11".
// The day is DayWindow's.
func MonthWindow(day string) string { return day[:len(day)-len("-21")] }

// WindowNumber is a window as a small number, for what stores many: twice the
// days since 1970 for DayWindow's, one more than twice the months for
// MonthWindow's. ok is false for what neither of them says of a day from 1970 to
// 9999.
func WindowNumber(window string) (n uint64, ok bool) {
	if len(window) < len("2026-11") || window[4] != '-' {
		return 0, false
	}
	year, inYears := digits(window[:4])
	month, inMonths := digits(window[5:7])
	if !inYears || !inMonths || year < 1970 || month < 1 || month > 12 {
		return 0, false
	}
	if len(window) == len("2026-11") {
		return uint64(year-1970)*24 + uint64(month-1)*2 + 1, true
	}
	if len(window) != len("2026-11-21") || window[7] != '-' {
		return 0, false
	}
	day, inDays := digits(window[8:])
	first := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if !inDays || first.Day() != day {
		return 0, false // the month has no such day
	}
	return 2 * uint64(DateOf(first)-1), true
}

// digits reads a number that is nothing but decimal digits.
func digits(text string) (n int, ok bool) {
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = 10*n + int(digit)
	}
	return n, true
}

// WindowOf is the window that WindowNumber made a number of; ok is false for a
// number that it never makes.
func WindowOf(n uint64) (window string, ok bool) {
	const lastDay, lastMonth = 2_932_896, (9999-1970)*12 + 11 // 9999-12-31
	since := n / 2
	switch {
	case n%2 == 0 && since <= lastDay:
		return DayWindow(Date(since) + 1), true
	case n%2 == 0 || since > lastMonth:
		return "", false
	}
	first := time.Date(1970+int(since/12), time.Month(since%12+1), 1, 0, 0, 0, 0, time.UTC)
	return first.Format("2006-01"), true
}

func headroomKey(a money.Asset) string { return "headroom/" + a.String() }
