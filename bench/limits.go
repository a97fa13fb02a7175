package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
)

// limitWriters is the number of goroutines that create the limits of --limits. Each creates one limit at a time.
const limitWriters = 32

// limit is the body of POST /api/v1/limits. This request limits a partner's payments.
type limit struct {
	Partner   int64  `json:"partner_id"`
	Kind      string `json:"kind"`
	Currency  string `json:"currency"`
	Env       string `json:"env"`
	Scope     string `json:"scope"`
	MaxAmount string `json:"max_amount,omitempty"`
	MaxCount  int64  `json:"max_count,omitempty"`
	Window    string `json:"window,omitempty"`
}

// unreachableLimits returns the limits that --limits creates for each partner. The server must count every payment for each of
// these limits, but no limit refuses a payment. For example, the velocity limit allows a million payments in a minute; a single
// partner would reach it only at 16,666 payments a second.
func unreachableLimits(partner int64) []limit {
	maxVolume := ledger.MaxAmount.String()
	return []limit{
		{Partner: partner, Kind: "daily_volume", Currency: paymentCurrency, Env: "prod", Scope: "partner", MaxAmount: maxVolume},
		{Partner: partner, Kind: "monthly_volume", Currency: paymentCurrency, Env: "prod", Scope: "partner", MaxAmount: maxVolume},
		{
			Partner: partner, Kind: "velocity", Currency: paymentCurrency, Env: "prod", Scope: "partner",
			MaxCount: directory.MaxCount, Window: "minute",
		},
	}
}

// createLimits creates limits for all partners of the run's payments. Each request has an
// Idempotency-Key, so that a second run on the same data adds no limits.
func (r *serverRun) createLimits(ctx context.Context) error {
	partners := r.partners()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var writers sync.WaitGroup
	for range limitWriters {
		writers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(partners) {
					return
				}
				if err := r.createLimitsOf(ctx, partners[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	writers.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("bench: limits: %w", err)
	}
	r.report.Limits = len(unreachableLimits(0))
	return nil
}

// partners returns the numbers of the partners that make the run's payments.
func (r *serverRun) partners() []int64 {
	if r.merchants == nil {
		return []int64{r.sandbox.PartnerID}
	}
	partners := make([]int64, 0, len(r.merchants.Partners))
	for i := range r.merchants.Partners {
		partners = append(partners, r.merchants.Partners[i].ID)
	}
	return partners
}

func (r *serverRun) createLimitsOf(ctx context.Context, partner int64) error {
	o := &operator{client: r.auditor.client, sandbox: &r.sandbox}
	for _, l := range unreachableLimits(partner) {
		o.idempotencyKey = "bench-limit-" + strconv.FormatInt(partner, 10) + "-" + l.Kind
		o.do(ctx, http.MethodPost, "/limits", r.sandbox.OrganizationID, l, nil)
	}
	return o.err
}
