package directory

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Usage is the use of a limit in its window, by the partner or by one subject of the limit's
// scope.
type Usage struct {
	Used     money.Amount // settled in the window, in minor units
	Reserved money.Amount // pending or held in the window, in minor units; counts as well
	Count    int64        // of a velocity limit: attempts in the window
	Resets   ledger.Micros
}

// Remaining returns what the limit still allows: minor units, or attempts for a velocity limit.
// It is zero if the use exceeds the limit, which may have been lowered.
func (u *Usage) Remaining(l *Limit) money.Amount {
	if l.Kind.Measure() == Attempts {
		return money.FromUint64(uint64(max(0, l.MaxCount-u.Count)))
	}
	left := l.MaxAmount
	for _, taken := range []money.Amount{u.Used, u.Reserved} {
		rest, err := left.Sub(taken)
		if err != nil {
			return money.Amount{}
		}
		left = rest
	}
	return left
}
