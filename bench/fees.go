package bench

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
)

// feeRule is the fee that a terminal charges for a payment: floor(amount × bps ÷ 10000) + fixed (specification, "Money rules").
type feeRule struct {
	bps, fixed big.Int
	onTop      bool // the payer pays the fee; otherwise it is deducted from what the partner receives
	converts   bool // the partner receives another currency
}

// feeRules has the rules of those terminals that take a fee or convert the currency. The key is the terminal's id.
type feeRules map[string]*feeRule

// wholeBasisPoints is a hundred percent, in basis points.
var wholeBasisPoints = big.NewInt(10_000)

// price has the amounts that one payment moves on the accounts of the provider, the partner and the fees. The provider's amount
// is the sum of the partner's amount and the fee. The partner's amount is negative if the fee is more than the payment's
// amount.
type price struct{ provider, partner, fee *big.Int }

// price returns the amounts that one payment of the bench moves under the rule. A nil rule means that there is no fee. price
// does not use the server's code for fees, because the bench checks that code.
func (f *feeRule) price() price {
	amount, fee := big.NewInt(paymentAmount), new(big.Int)
	if f == nil {
		return price{provider: amount, partner: amount, fee: fee}
	}
	fee.Mul(amount, &f.bps).Div(fee, wholeBasisPoints).Add(fee, &f.fixed) // no factor is negative, so Div rounds down
	if f.onTop {
		return price{provider: new(big.Int).Add(amount, fee), partner: amount, fee: fee}
	}
	return price{provider: amount, partner: new(big.Int).Sub(amount, fee), fee: fee}
}

// listedTerminal is a terminal as GET /terminals lists it.
type listedTerminal struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Env    string `json:"env"`
	Params struct {
		Bps        *decimal `json:"fee_bps"`
		Fixed      *decimal `json:"fee_fixed"`
		Mode       *string  `json:"fee_mode"`
		Settlement *string  `json:"settlement_currency"`
	} `json:"provider_params"`
}

// rule returns the terminal's rule, or nil if the terminal takes no fee for the bench's payments and does not convert them.
func (t *listedTerminal) rule() *feeRule {
	if t.Type != "payment" || t.Env != paymentEnv {
		return nil
	}
	f := &feeRule{onTop: t.Params.Mode != nil && *t.Params.Mode == "on_top"}
	if t.Params.Bps != nil {
		f.bps.Set(&t.Params.Bps.Int)
	}
	if t.Params.Fixed != nil {
		f.fixed.Set(&t.Params.Fixed.Int)
	}
	if s := t.Params.Settlement; s != nil {
		f.converts = *s != "" && *s != paymentCurrency
	}
	if f.bps.Sign() == 0 && f.fixed.Sign() == 0 && !f.converts {
		return nil
	}
	return f
}

// readFeeRules reads the rules of the partner's terminals, or of all terminals if all partners make payments. It is called
// before the run, so if a fee is changed during the run, the check of the ledger fails.
func (a *ledgerReader) readFeeRules(ctx context.Context) (feeRules, error) {
	rules, o := make(feeRules), &operator{client: a.client, sandbox: a.sandbox}
	query := url.Values{"limit": {pageSize}}
	if !a.allPartners {
		query.Set("partner_id", strconv.FormatInt(a.sandbox.PartnerID, 10))
	}
	for {
		var page struct {
			Data   []listedTerminal `json:"data"`
			Cursor struct {
				Value *string `json:"cursor_value"`
			} `json:"cursor"`
		}
		o.do(ctx, http.MethodGet, "/terminals?"+query.Encode(), a.sandbox.OrganizationID, nil, &page)
		if o.err != nil {
			return nil, fmt.Errorf("bench: terminals: %w", o.err)
		}
		for i := range page.Data {
			if rule := page.Data[i].rule(); rule != nil {
				rules[page.Data[i].ID] = rule
			}
		}
		if page.Cursor.Value == nil {
			return rules, nil
		}
		query.Set("cursor", *page.Cursor.Value)
	}
}

// total adds up the prices of payments: the credits and debits of the partners, and the fees.
type total struct{ credits, debits, fees big.Int }

// add adds the amounts of count payments. Each of these payments moves the amounts in p.
func (t *total) add(p price, count *big.Int) {
	var part big.Int
	if part.Mul(p.partner, count); p.partner.Sign() >= 0 {
		t.credits.Add(&t.credits, &part)
	} else {
		t.debits.Sub(&t.debits, &part)
	}
	t.fees.Add(&t.fees, part.Mul(p.fee, count))
}

// checkCharged compares the totals in b with the totals in before, which were read before the run. The difference must be
// exactly the amounts that count charged payments move. It returns the sum of the fees of these payments.
//
// The server may route a payment to any terminal, so checkCharged must compute the number of payments at each terminal in rules.
// It divides the rise of the terminal's provider account by the amount that one payment moves there. A remainder is an error.
// All other totals follow from these numbers and from the rules.
func (b *ledgerTotals) checkCharged(before *ledgerTotals, count uint64, rules feeRules) (fees *big.Int, err error) {
	want, remaining := new(total), new(big.Int).SetUint64(count)
	for id, rule := range rules {
		rise := b.providerOf(id)
		rise.Sub(rise, before.providerOf(id))
		if rule.converts && rise.Sign() != 0 {
			return nil, fmt.Errorf("bench: terminal %s converts payments into another currency, which the check of the ledger does not support", id)
		}
		p := rule.price()
		number, rest := new(big.Int).DivMod(rise, p.provider, new(big.Int))
		if rest.Sign() != 0 {
			return nil, fmt.Errorf("bench: the provider's account of terminal %s has risen by %v, but each payment there is one of %v", id, rise, p.provider)
		}
		want.add(p, number)
		remaining.Sub(remaining, number)
	}
	plain := (*feeRule)(nil).price()
	want.add(plain, remaining)
	for _, c := range []struct {
		what                string
		before, after, want *big.Int
		checked             bool
	}{
		{"the provider's accounts of terminals without a fee", &before.provider, &b.provider, new(big.Int).Mul(plain.provider, remaining), true},
		{"the credits of the partners", &before.credits, &b.credits, &want.credits, true},
		// A payment debits its partner only if the fee is more than the amount. If no rule has such a fee, the debits are not
		// checked, because other clients may make refunds during the run.
		{"the debits of the partners", &before.debits, &b.debits, &want.debits, want.debits.Sign() != 0},
		{"the account of fees", &before.fees, &b.fees, &want.fees, true},
	} {
		if rise := new(big.Int).Sub(c.after, c.before); c.checked && rise.Cmp(c.want) != 0 {
			return nil, fmt.Errorf("bench: %d payments of %d were charged, but %s has risen by %v instead of %v", count, paymentAmount, c.what, rise, c.want)
		}
	}
	return &want.fees, nil
}
