package scan

import (
	"hash/maphash"
	"math/big"
	"math/bits"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Fingerprint stands for what postings do to accounts: the sum, over all of them, of
// what is debited less what is credited, times a random number of the account's
// own, in the field of a prime. So it does not depend on how the postings are
// ordered, nor on how a partner's line is split between what is available and
// what is owed; and meanings add up as entries do: what cancels out is 0.
type Fingerprint uint64

// prime is a Mersenne prime: two different meanings are taken for one with a
// probability of one in it.
const prime = 1<<61 - 1

var bigPrime = big.NewInt(prime)

func (m Fingerprint) Plus(o Fingerprint) Fingerprint {
	if m += o; m >= prime {
		m -= prime
	}
	return m
}

func (m Fingerprint) negated() Fingerprint {
	if m == 0 {
		return 0
	}
	return prime - m
}

func (m Fingerprint) times(o Fingerprint) Fingerprint {
	high, low := bits.Mul64(uint64(m), uint64(o))
	_, rest := bits.Div64(high, low, prime)
	return Fingerprint(rest)
}

// Fingerprint is what postings do.
func (h *Histories) Fingerprint(postings []ledger.Posting) (sum Fingerprint) {
	for i := range postings {
		p := &postings[i]
		part := h.weight(p.Account, p.Asset).times(residue(p.Amount))
		if p.Side == ledger.Credit {
			part = part.negated()
		}
		sum = sum.Plus(part)
	}
	return sum
}

// ExpectedFingerprint is what a template's lines would do.
func (h *Histories) ExpectedFingerprint(lines []Line) (sum Fingerprint) {
	var rest big.Int
	for i := range lines {
		l := &lines[i]
		rest.Mod(l.net, bigPrime) // never negative
		sum = sum.Plus(h.weight(l.path, l.asset).times(Fingerprint(rest.Uint64())))
	}
	return sum
}

// weight is the account's random number, one for both accounts between which a
// partner's line is split.
func (h *Histories) weight(path ledger.Path, asset money.Asset) Fingerprint {
	var m maphash.Hash
	m.SetSeed(h.Seed)
	_, _ = m.WriteString(PartnerLine(path)) // it never fails, here and below
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(asset.Currency))
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(asset.Network))
	_ = m.WriteByte(byte(asset.Env))
	return Fingerprint(m.Sum64() % prime)
}

func residue(a money.Amount) Fingerprint {
	if u, small := a.Uint64(); small {
		return Fingerprint(u % prime)
	}
	return Fingerprint(new(big.Int).Mod(BigAmount(a), bigPrime).Uint64())
}

// BigAmount is an amount without a bound.
func BigAmount(a money.Amount) *big.Int {
	if u, small := a.Uint64(); small {
		return new(big.Int).SetUint64(u)
	}
	n, _ := new(big.Int).SetString(a.String(), 10) // String writes digits
	return n
}

func BigSigned(s money.Signed) *big.Int {
	n := BigAmount(s.Abs)
	if s.Negative {
		n.Neg(n)
	}
	return n
}
