package check

import (
	"hash/maphash"
	"math/big"
	"math/bits"

	"mizan/ledger"
	"mizan/ledger/money"
)

// meaning stands for what postings do to accounts: the sum, over all of them, of
// what is debited less what is credited, times a random number of the account's
// own, in the field of a prime. So it does not depend on how the postings are
// ordered, nor on how a partner's line is split between what is available and
// what is owed; and meanings add up as entries do: what cancels out is 0.
type meaning uint64

// prime is a Mersenne prime: two different meanings are taken for one with a
// probability of one in it.
const prime = 1<<61 - 1

var bigPrime = big.NewInt(prime)

func (m meaning) plus(o meaning) meaning {
	if m += o; m >= prime {
		m -= prime
	}
	return m
}

func (m meaning) negated() meaning {
	if m == 0 {
		return 0
	}
	return prime - m
}

func (m meaning) times(o meaning) meaning {
	high, low := bits.Mul64(uint64(m), uint64(o))
	_, rest := bits.Div64(high, low, prime)
	return meaning(rest)
}

// meaning is what postings do.
func (h *histories) meaning(postings []ledger.Posting) (sum meaning) {
	for i := range postings {
		p := &postings[i]
		part := h.weight(p.Account, p.Asset).times(residue(p.Amount))
		if p.Side == ledger.Credit {
			part = part.negated()
		}
		sum = sum.plus(part)
	}
	return sum
}

// meant is what a template's lines would do.
func (h *histories) meant(lines []line) (sum meaning) {
	var rest big.Int
	for i := range lines {
		l := &lines[i]
		rest.Mod(l.net, bigPrime) // never negative
		sum = sum.plus(h.weight(l.path, l.asset).times(meaning(rest.Uint64())))
	}
	return sum
}

// weight is the account's random number, one for both accounts between which a
// partner's line is split.
func (h *histories) weight(path ledger.Path, asset money.Asset) meaning {
	var m maphash.Hash
	m.SetSeed(h.seed)
	_, _ = m.WriteString(partnersLine(path)) // it never fails, here and below
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(asset.Currency))
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(asset.Network))
	_ = m.WriteByte(byte(asset.Env))
	return meaning(m.Sum64() % prime)
}

func residue(a money.Amount) meaning {
	if u, small := a.Uint64(); small {
		return meaning(u % prime)
	}
	return meaning(new(big.Int).Mod(large(a), bigPrime).Uint64())
}

// large is an amount without a bound.
func large(a money.Amount) *big.Int {
	if u, small := a.Uint64(); small {
		return new(big.Int).SetUint64(u)
	}
	n, _ := new(big.Int).SetString(a.String(), 10) // String writes digits
	return n
}

func largeSigned(s money.Signed) *big.Int {
	n := large(s.Abs)
	if s.Negative {
		n.Neg(n)
	}
	return n
}
