package payment

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Terms are the conditions under which the chosen terminal processes a transaction.
type Terms struct {
	Terminal     ledger.ID
	Route        string // the rail's name
	TerminalText string // shown to the payer instead of the description
	Fees         Fees
	TwoPhase     bool
	HoldTTL      time.Duration
	Overdraft    money.Amount // how far below zero a payout may take the partner's available balance
	Asset        money.Asset  // the transaction's asset, including the network that the terminal uses

	// Converts tells whether the amount is converted into SettlementAsset at Rate. If Converts is set and Rate is zero,
	// the rate is unknown and the transaction is rejected.
	Converts        bool
	SettlementAsset money.Asset
	Rate            money.Rate

	HostedAttempts uint8 // how many attempts the terminal allows the payer of a hosted payment

	Priority         int       // the terminal's priority
	Bounds           []Bound   // bounds of the volume limits that count this transaction
	SkippedTerminals []Attempt // terminals that were skipped before this one was chosen
}

// Found tells whether a terminal was found.
func (t *Terms) Found() bool { return t.Terminal != (ledger.ID{}) }

// setTerms copies the terms into the record and computes the amounts. It returns the reason to reject the transaction,
// or "" if there is none.
func (r *Record) setTerms(t *Terms) Code {
	r.Terminal, r.Route, r.TerminalText, r.Priority = t.Terminal, t.Route, t.TerminalText, t.Priority
	r.Asset, r.Fees, r.TwoPhase, r.HoldTTL = t.Asset, t.Fees, t.TwoPhase, 0
	if t.TwoPhase {
		r.HoldTTL = t.HoldTTL
	}
	r.Rate, r.SettlementAsset = money.Rate{}, money.Asset{}
	if t.Converts {
		if t.Rate.IsZero() || !hasScale(t.Asset) || !hasScale(t.SettlementAsset) {
			return NoExchangeRate
		}
		r.Rate, r.SettlementAsset = t.Rate, t.SettlementAsset
	}
	return r.price(r.Amount)
}

// AttemptsIfStopped returns Record.Attempts for a transaction that is rejected after the terminal was found and before
// the charge is sent to it: the skipped terminals, followed by this terminal with the reason.
func (t *Terms) AttemptsIfStopped(why Failure, now time.Time) []Attempt {
	if !t.Found() {
		return t.SkippedTerminals
	}
	return append(t.SkippedTerminals[:len(t.SkippedTerminals):len(t.SkippedTerminals)],
		Attempt{Terminal: t.Terminal, Outcome: AttemptStopped, Failure: why, Priority: t.Priority, At: ledger.MicrosOf(now)})
}

// Offer is a payment method that is available now to a payer or to the recipient of a payout.
type Offer struct {
	Method string       // money_storage type
	Total  money.Amount // the amount that the payer pays, fee included, or that the recipient gets
	Asset  money.Asset  // the asset of Total

	WithoutCard bool // the method is a card, and the provider will ask the payer for it
}

// Total returns the amount that the payer of a payment pays, fee included, or that the recipient of a payout gets. amount
// is the transaction's amount. ok is false if the terms exclude this amount.
func (t *Terms) Total(of Type, amount money.Amount) (total money.Amount, asset money.Asset, ok bool) {
	r := Record{Request: Request{Type: of, Amount: amount}}
	code := r.setTerms(t)
	if of == Payout {
		return r.DestAmount, r.DestAsset(), code == ""
	}
	return r.AmountWithFee, r.Asset, code == ""
}

// hasScale tells whether the number of decimals of the asset is known.
func hasScale(a money.Asset) bool {
	_, known := a.Scale()
	return known
}

// price computes the amounts that follow from the terminal's fee, which is floor(amount × bps ÷ 10000) + fixed. It
// returns the reason to reject the transaction, or "" if there is none.
func (r *Record) price(amount money.Amount) Code {
	fee, err := amount.Portion(r.Fees.Bps)
	if err == nil {
		fee, err = fee.Add(r.Fees.Fixed)
	}
	if err != nil || ledger.MaxAmount.Less(fee) {
		return AmountOutOfRange
	}
	r.Fee = fee
	r.AmountWithFee, r.MerchantAmount = amount, money.Difference(amount, fee)
	if r.Fees.OnTop {
		if r.AmountWithFee, err = amount.Add(fee); err != nil {
			return AmountOutOfRange
		}
		r.MerchantAmount = money.Difference(amount, money.Amount{})
	}
	if r.DestAmount, err = r.convert(r.MerchantAmount); err != nil || ledger.MaxAmount.Less(r.DestAmount) {
		return AmountOutOfRange
	}
	if r.Type == Payout && r.DestAmount.IsZero() {
		return FeeExceedsAmount
	}
	if !r.refundable(amount) {
		return AmountOutOfRange
	}
	return ""
}

// refundable tells whether a full refund of the amount can be booked, that is, whether the converted amount is in range.
// This can fail even if the charge is in range: for the charge the fee is deducted from the amount, but if the terminal
// keeps its fee, a full refund takes the whole amount back from the partner.
func (r *Record) refundable(amount money.Amount) bool {
	if r.Type != Payment || !r.crossesExchange() {
		return true
	}
	largestReturn, err := r.convert(money.Signed{Abs: amount})
	return err == nil && !ledger.MaxAmount.Less(largestReturn)
}

// convert converts a part of the amount into the destination's asset and rounds down. A negative part becomes zero.
func (r *Record) convert(part money.Signed) (money.Amount, error) {
	if part.Negative {
		return money.Amount{}, nil
	}
	if r.Rate.IsZero() {
		return part.Abs, nil
	}
	from, _ := r.Asset.Scale()
	to, _ := r.SettlementAsset.Scale()
	return part.Abs.Convert(r.Rate, from, to)
}

// clearPrice sets the amounts of a transaction that has no terminal and therefore no fee.
func (r *Record) clearPrice() {
	r.Fee, r.AmountWithFee, r.DestAmount = money.Amount{}, r.Amount, r.Amount
	r.MerchantAmount = money.Difference(r.Amount, money.Amount{})
	r.Rate, r.SettlementAsset = money.Rate{}, money.Asset{}
}
