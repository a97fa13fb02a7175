package stripe

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
)

var _ actors.LineSource = (*Provider)(nil)

// Lines implements actors.LineSource: the lines are the account's balance transactions. If several terminals share the account, a
// charge, a refund or a dispute belongs to the terminal that its metadata name; what names none, such as a payout to the bank, is in
// the lines of each of them.
func (p *Provider) Lines(ctx context.Context, terminal *directory.Terminal, after, until time.Time, fn func(page []reconciliation.Line) error) error {
	account := p.client(accountOf(connectionOf(terminal)))
	created := &stripe.RangeQueryParams{LesserThanOrEqual: until.Unix()}
	if !after.IsZero() {
		created.GreaterThan = after.Unix()
	}
	for last := (*string)(nil); ; {
		pageCtx, cancel := context.WithTimeout(ctx, p.timeout)
		page, f := do(pageCtx, account, func(ctx context.Context, c *client) (*stripe.V1List[*stripe.BalanceTransaction], error) {
			params := &stripe.BalanceTransactionListParams{CreatedRange: created}
			params.Limit, params.StartingAfter, params.Single = stripe.Int64(pageSize), last, true
			params.AddExpand("data.source")
			list := c.V1BalanceTransactions.List(ctx, params)
			return list, list.Err()
		})
		cancel()
		if f != nil {
			return fmt.Errorf("stripe: balance transactions: %w", f.problem())
		}
		var lines []reconciliation.Line
		for _, b := range page.Data() {
			source := sourceOf(b)
			if owner := source.metadata[metaTerminal]; owner != "" && owner != terminal.ID.String() {
				continue
			}
			line, err := source.line(b, terminal.Env)
			if err != nil {
				return err
			}
			lines = append(lines, line)
		}
		if err := fn(lines); err != nil {
			return err
		}
		if !page.Meta().HasMore || len(page.Data()) == 0 {
			return nil
		}
		last = &page.Data()[len(page.Data())-1].ID
	}
}

// lineSource is what a balance transaction is about.
type lineSource struct {
	metadata   map[string]string
	references []string // ids by which our transaction may be found
}

func sourceOf(b *stripe.BalanceTransaction) (s lineSource) {
	if b.Source == nil {
		return s
	}
	intent := (*stripe.PaymentIntent)(nil)
	switch {
	case b.Source.Charge != nil:
		s.metadata, intent = b.Source.Charge.Metadata, b.Source.Charge.PaymentIntent
	case b.Source.Refund != nil:
		s.metadata, intent = b.Source.Refund.Metadata, b.Source.Refund.PaymentIntent
	case b.Source.Dispute != nil:
		s.metadata, intent = b.Source.Dispute.Metadata, b.Source.Dispute.PaymentIntent
	case b.Source.Payout != nil:
		s.metadata = b.Source.Payout.Metadata
	}
	for _, id := range []string{s.metadata[metaReference], b.Source.ID} {
		if id != "" && len(id) <= reconciliation.MaxReference {
			s.references = append(s.references, id)
		}
	}
	if intent != nil && isID(intent.ID, "pi_") {
		s.references = append(s.references, intent.ID)
	}
	return s
}

// lineKinds are the kinds of lines by Stripe's category (docs.stripe.com/reports/reporting-categories). Any other category is an
// adjustment.
var lineKinds = map[stripe.BalanceTransactionReportingCategory]reconciliation.LineKind{
	stripe.BalanceTransactionReportingCategoryCharge:                 reconciliation.Charge,
	stripe.BalanceTransactionReportingCategoryRefund:                 reconciliation.Refund,
	stripe.BalanceTransactionReportingCategoryRefundFailure:          reconciliation.Refund,
	stripe.BalanceTransactionReportingCategoryPartialCaptureReversal: reconciliation.Refund,
	stripe.BalanceTransactionReportingCategoryDispute:                reconciliation.Dispute,
	stripe.BalanceTransactionReportingCategoryDisputeReversal:        reconciliation.Dispute,
	stripe.BalanceTransactionReportingCategoryFee:                    reconciliation.FeeCharge,
	stripe.BalanceTransactionReportingCategoryPayout:                 reconciliation.PaidOut,
	stripe.BalanceTransactionReportingCategoryPayoutReversal:         reconciliation.PaidOut,
}

func (s *lineSource) line(b *stripe.BalanceTransaction, env money.Env) (reconciliation.Line, error) {
	asset := money.Asset{Currency: money.Currency(upper(b.Currency)), Env: env}
	kind, known := lineKinds[b.ReportingCategory]
	if !known {
		kind = reconciliation.Adjustment
	}
	amount, isExact := ourAmount(b.Amount, asset)
	fee, isFeeExact := ourAmount(b.Fee, asset)
	if !isExact || !isFeeExact {
		return reconciliation.Line{}, fmt.Errorf("stripe: balance transaction %s has amounts that %s can't have", b.ID, asset.Currency)
	}
	return reconciliation.Line{
		ID: b.ID, Kind: kind, Outgoing: amount.Negative, Amount: amount.Abs, Fee: fee, Asset: asset,
		Date: ledger.DateOf(time.Unix(b.Created, 0)), References: s.references,
	}, nil
}

// ourAmount is the inverse of stripeAmount for amounts of either sign. ok is false if the asset can't have exactly this amount.
func ourAmount(minor int64, asset money.Asset) (amount money.Signed, ok bool) {
	scale, known := asset.Scale()
	if !known || minor == math.MinInt64 {
		return money.Signed{}, false
	}
	units, ok := rescale(uint64(max(minor, -minor)), ruleOf(asset.Currency).decimals, scale)
	return money.Signed{Negative: minor < 0 && units > 0, Abs: money.FromUint64(units)}, ok
}
