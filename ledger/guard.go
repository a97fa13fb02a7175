package ledger

import (
	"encoding/hex"

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
	Refuse  Code // LimitExceeded or OutOfRange
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

// A volume limit is two counters a window and subject: what is reserved or
// settled, which the limit bounds, and what of it is settled.

// VolumeKey names the first of a limit's two counters. The window is
// DayWindow's or MonthWindow's; the subject tells one card, address or e-mail
// from another and is empty where the limit is the partner's.
func VolumeKey(limit ID, window, subject string) string {
	return counterOf("volume/", limit, window, subject)
}

// SettledKey names the second of a limit's two counters.
func SettledKey(limit ID, window, subject string) string {
	return counterOf("settled/", limit, window, subject)
}

// counterOf is <what><limit>/<window>/<subject>, built in one piece: every
// payment under a limit needs several.
func counterOf(what string, limit ID, window, subject string) string {
	var room [128]byte
	key := append(room[:0], what...)
	for i, from := range [...]int{0, 4, 6, 8, 10} { // as a UUID is written
		if i > 0 {
			key = append(key, '-')
		}
		key = hex.AppendEncode(key, limit[from:[...]int{4, 6, 8, 10, 16}[i]])
	}
	key = append(append(key, '/'), window...)
	key = append(append(key, '/'), subject...)
	return string(key)
}

// DayWindow is the UTC day of a counter, for example "2026-11-21".
func DayWindow(d Date) string { return d.String() }

// MonthWindow is the UTC calendar month of a counter, for example "2026-11".
// The day is DayWindow's.
func MonthWindow(day string) string { return day[:len(day)-len("-21")] }

func headroomKey(a money.Asset) string { return "headroom/" + a.String() }
