package directory

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Usage is how much of a limit was used in its window, by the partner or by one
// subject of its scope.
type Usage struct {
	Used     money.Amount // settled in the window, in minor units
	Reserved money.Amount // under way or held, which counts as well
	Count    int64        // of a velocity limit: attempts in the window
	Resets   ledger.Micros
}

// Remaining is what the limit still lets through: minor units, attempts of a
// velocity limit. It is zero where more was used than the limit is by now.
func (u *Usage) Remaining(l *Limit) money.Amount {
	if l.Kind == Velocity {
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
