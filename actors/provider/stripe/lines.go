package stripe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
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
// charge, a refund or a dispute belongs to the terminal that its metadata, or those of its charge, name. What names none, such as
// Stripe's fees or an automatic payout to the bank, belongs to the terminal that keeps the account, so that nobody books it twice.
func (p *Provider) Lines(ctx context.Context, terminal *directory.Terminal, after, until time.Time, fn func(page []reconciliation.Line) error) error {
	account, keepsAccount := p.client(accountOf(connectionOf(terminal))), p.keepsAccount(terminal)
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
			if source.metadata[metaTerminal] == "" && source.intent != "" {
				intentCtx, cancel := context.WithTimeout(ctx, p.timeout)
				in, f := readIntent(intentCtx, account, source.intent)
				cancel()
				switch {
				case f == nil:
					source.use(in.Metadata)
				case !f.isAbsent():
					return fmt.Errorf("stripe: a charge of balance transaction %s: %w", b.ID, f.problem())
				}
			}
			if owner := source.metadata[metaTerminal]; owner != terminal.ID.String() && (owner != "" || !keepsAccount) {
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

// keepsAccount tells whether a terminal is the oldest of its organization's terminals with the same key. A terminal that is added later
// must not become the one, because its first report begins with the account's first line.
func (p *Provider) keepsAccount(terminal *directory.Terminal) bool {
	order := func(a, b *directory.Terminal) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	}
	key := accountOf(connectionOf(terminal))
	return !slices.ContainsFunc(p.terminals(), func(t *directory.Terminal) bool {
		return t.Org == terminal.Org && accountOf(connectionOf(t)) == key && order(t, terminal) < 0
	})
}

// lineSource is what a balance transaction is about.
type lineSource struct {
	metadata   map[string]string
	intent     string   // empty if it is about no charge
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
	s.use(s.metadata)
	if id := b.Source.ID; id != "" && len(id) <= reconciliation.MaxReference {
		s.references = append(s.references, id)
	}
	if intent != nil && isID(intent.ID, "pi_") {
		s.intent, s.references = intent.ID, append(s.references, intent.ID)
	}
	return s
}

// use takes the metadata that say what the line is about.
func (s *lineSource) use(metadata map[string]string) {
	s.metadata = metadata
	if id := metadata[metaReference]; id != "" && len(id) <= reconciliation.MaxReference {
		s.references = append(s.references, id)
	}
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
