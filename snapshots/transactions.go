package snapshots

import (
	"cmp"
	"hash/maphash"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	acting "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// inFlight is longer than any decision is on its way into the journal: what was
// decided before a setting changed may be booked after it.
const inFlight = ledger.Micros(time.Minute / time.Microsecond)

// checkTransaction compares a transaction's payload with its events.
func (c *checker) checkTransaction(r *record) {
	p, err := acting.Decode(r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	h, histories := r.history, r.organization.histories
	c.checkState(r, string(p.Status))
	if p.ID != r.source.ID {
		c.faulty(r, "calls itself %v", p.ID)
	}
	if r.stamp.Finished != h.finished {
		c.faulty(r, "is %q and finished at another time than its events say", p.Status)
	}
	if h.entry != 0 && h.entry != histories.meaning(bookedBy(p)) {
		c.faulty(r, "books other amounts than it says")
	}
	if wrong := c.price(r, p); wrong != "" {
		c.faulty(r, "%s", wrong)
	}
	c.checkReturn(r, p)
	if p.TxID != "" {
		h.claims, h.claim = ledger.ClaimTxID, histories.hash(byte(ledger.ClaimTxID), acting.TxIDKey(p.Partner, p.TxID))
	}
	h.list = histories.listOf(p.Partner, p.Asset.Env)
	if p.Route == simulator && p.ReversalOf == (ledger.ID{}) {
		h.marks |= simulated
	}
	c.meet(r, p)
}

// listOf stands for the list that shows a transaction.
func (h *histories) listOf(partner int64, env money.Env) uint32 {
	return uint32(h.hash(byte(env), strconv.FormatInt(partner, 10)))
}

// checkReturn checks that a reversed transaction and its return name each other.
func (c *checker) checkReturn(r *record, p *payment.Record) {
	other, what := p.ReversalOf, payment.Reversed
	if other == (ledger.ID{}) {
		other, what = p.ReturnID, payment.Charged
	}
	if other == (ledger.ID{}) {
		if p.Status == payment.Reversed {
			c.faulty(r, "is reversed without a return")
		}
		return
	}
	histories := r.organization.histories
	h := histories.find(ledger.Source{Kind: ledger.Transaction, ID: other})
	if h == nil || !histories.statesOf(ledger.Transaction).was(h, string(what)) {
		c.faulty(r, "names transaction %v, which is not %s", other, what)
	}
}

// bookedBy are the postings that a transaction's record asks for (POSTINGS,
// "Payments"), with the partner's line in one piece.
func bookedBy(p *payment.Record) []ledger.Posting {
	line := func(path ledger.Path, side ledger.Side, amount money.Amount) ledger.Posting {
		return ledger.Posting{Account: path, Asset: p.Asset, Side: side, Amount: amount}
	}
	provider, partner := ledger.ProviderReceivable(p.Terminal), ledger.PartnerAvailable(p.Partner)
	if p.Type == payment.Payout && p.ReversalOf == (ledger.ID{}) {
		return []ledger.Posting{
			line(partner, ledger.Debit, p.WithFee), line(provider, ledger.Credit, p.Dest), line(ledger.Fees, ledger.Credit, p.Fee),
		}
	}
	in, out := ledger.Debit, ledger.Credit
	if p.ReversalOf != (ledger.ID{}) {
		in, out = out, in
	}
	share := out
	if p.Merchant.Negative {
		share = in
	}
	return []ledger.Posting{line(provider, in, p.WithFee), line(partner, share, p.Merchant.Abs), line(ledger.Fees, out, p.Fee)}
}

// meaning is a hash of what postings do to accounts, however they are ordered
// and however a partner's line is split between what is available and owed.
func (h *histories) meaning(postings []ledger.Posting) uint64 {
	type sum struct {
		name  string
		asset money.Asset
		net   money.Signed
	}
	sums := make([]sum, 0, 4)
	for i := range postings {
		p := &postings[i]
		name := partnersLine(p.Account)
		at := slices.IndexFunc(sums, func(s sum) bool { return s.name == name && s.asset == p.Asset })
		if at < 0 {
			at = len(sums)
			sums = append(sums, sum{name: name, asset: p.Asset})
		}
		sums[at].net, _ = sums[at].net.Add(net(p)) // unbalanced has looked at the range
	}
	sums = slices.DeleteFunc(sums, func(s sum) bool { return s.net.IsZero() })
	slices.SortFunc(sums, func(a, b sum) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.asset.Currency, b.asset.Currency), cmp.Compare(a.asset.Network, b.asset.Network))
	})
	var m maphash.Hash
	m.SetSeed(h.seed)
	var form []byte
	for i := range sums {
		form = append(append(form[:0], sums[i].name...), 0)
		form = sums[i].net.AppendBinary(sums[i].asset.AppendBinary(form))
		_, _ = m.Write(form) // it never fails
	}
	return m.Sum64() | 1 // 0 is "none"
}

const (
	availableHead, availableTail = "L:partner:", ":available"
	owedHead, owedTail           = "A:partner:", ":receivable"
)

// partnersLine names both accounts between which a partner's line is split.
func partnersLine(path ledger.Path) string {
	s := string(path)
	if number, ok := between(s, owedHead, owedTail); ok {
		return number
	}
	if number, ok := between(s, availableHead, availableTail); ok {
		return number
	}
	return s
}

// availableTo is the partner whose available balance the account is.
func availableTo(path ledger.Path) (number int64, ok bool) {
	digits, ok := between(string(path), availableHead, availableTail)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

func between(s, head, tail string) (string, bool) {
	if len(s) < len(head)+len(tail) || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
		return "", false
	}
	return s[len(head) : len(s)-len(tail)], true
}

// price recomputes the fee from the terminal's settings, if they are the ones
// that it was decided by (DECISIONS, "Payments"): floor(amount × bps / 10000) +
// fixed, on top of the amount or deducted from it.
func (c *checker) price(r *record, p *payment.Record) (wrong string) {
	t := c.directory.terminal(r.organization.id, p.Terminal)
	if t == nil || p.ReversalOf != (ledger.ID{}) || (t.changed && r.stamp.Started < t.updated+inFlight) {
		return ""
	}
	fee := new(big.Int).Mul(large(p.Amount), new(big.Int).SetUint64(uint64(t.settings.FeeBps)))
	fee.Add(fee.Div(fee, big.NewInt(10_000)), large(t.settings.FeeFixed))
	withFee, merchant := large(p.Amount), large(p.Amount)
	if t.settings.FeeOnTop {
		withFee.Add(withFee, fee)
	} else {
		merchant.Sub(merchant, fee)
	}
	said := large(p.Merchant.Abs)
	if p.Merchant.Negative {
		said.Neg(said)
	}
	arrives := said
	if said.Sign() < 0 {
		arrives = new(big.Int)
	}
	switch {
	case large(p.Fee).Cmp(fee) != 0:
		return "has a fee of " + p.Fee.String() + ", and its terminal takes " + fee.String()
	case large(p.WithFee).Cmp(withFee) != 0, said.Cmp(merchant) != 0, large(p.Dest).Cmp(arrives) != 0:
		return "splits its amount another way than its terminal"
	}
	return ""
}

func large(a money.Amount) *big.Int {
	if u, small := a.Uint64(); small {
		return new(big.Int).SetUint64(u)
	}
	n, _ := new(big.Int).SetString(a.String(), 10) // String writes digits
	return n
}
