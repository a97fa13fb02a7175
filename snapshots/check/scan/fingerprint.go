package scan

import (
	"hash/maphash"
	"math/big"
	"math/bits"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Fingerprint is one number that stands for the effect of postings on accounts. Each account has a random number. The
// fingerprint is the sum, modulo a prime, of each posting's amount (negative for a credit) times the random number of
// the posting's account. It does not depend on the order of the postings, nor on how a partner's balance is split into
// available and owed. The fingerprint of several entries is the sum of their fingerprints. If the entries cancel out,
// the sum is 0.
type Fingerprint uint64

// prime is a Mersenne prime. If two sets of postings have different effects, the probability that their fingerprints
// are equal is 1/prime.
const prime = 1<<61 - 1

var bigPrime = big.NewInt(prime)

// Plus returns the fingerprint of two sets of postings together.
func (f Fingerprint) Plus(other Fingerprint) Fingerprint {
	if f += other; f >= prime {
		f -= prime
	}
	return f
}

func (f Fingerprint) negated() Fingerprint {
	if f == 0 {
		return 0
	}
	return prime - f
}

func (f Fingerprint) times(other Fingerprint) Fingerprint {
	high, low := bits.Mul64(uint64(f), uint64(other))
	_, remainder := bits.Div64(high, low, prime)
	return Fingerprint(remainder)
}

// Fingerprint returns the fingerprint of an entry's postings.
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

// ExpectedFingerprint returns the fingerprint of the postings that an entry is expected to have.
func (h *Histories) ExpectedFingerprint(lines []Line) (sum Fingerprint) {
	var remainder big.Int
	for i := range lines {
		l := &lines[i]
		remainder.Mod(l.net, bigPrime) // never negative
		sum = sum.Plus(h.weight(l.path, l.asset).times(Fingerprint(remainder.Uint64())))
	}
	return sum
}

// weight returns the random number of an account. A partner's balance is split between two accounts, which have the same random
// number.
func (h *Histories) weight(path ledger.Path, asset money.Asset) Fingerprint {
	var hash maphash.Hash
	hash.SetSeed(h.Seed)
	_, _ = hash.WriteString(BalanceKey(path)) // maphash never fails, here and below
	_ = hash.WriteByte(0)
	_, _ = hash.WriteString(string(asset.Currency))
	_ = hash.WriteByte(0)
	_, _ = hash.WriteString(string(asset.Network))
	_ = hash.WriteByte(byte(asset.Env))
	return Fingerprint(hash.Sum64() % prime)
}

// residue returns an amount modulo prime.
func residue(a money.Amount) Fingerprint {
	if u, small := a.Uint64(); small {
		return Fingerprint(u % prime)
	}
	return Fingerprint(new(big.Int).Mod(BigAmount(a), bigPrime).Uint64())
}

// BigAmount converts an amount to an unbounded integer.
func BigAmount(a money.Amount) *big.Int {
	if u, small := a.Uint64(); small {
		return new(big.Int).SetUint64(u)
	}
	n, _ := new(big.Int).SetString(a.String(), 10) // String returns digits only
	return n
}

// BigSigned converts a signed amount to an unbounded integer.
func BigSigned(s money.Signed) *big.Int {
	n := BigAmount(s.Abs)
	if s.Negative {
		n.Neg(n)
	}
	return n
}
