package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
)

const (
	// skew is the maximum difference between Stripe's clock and ours. The periods of two polls overlap by it.
	skew = 5 * time.Minute

	// lookBack is the length of the period that the first poll after a start covers for disputes and failures, which nothing else
	// reports. Stripe keeps events for 30 days.
	lookBack = 30 * 24 * time.Hour

	// changesLookBack is the same for changes of charges, which inquiries find as well.
	changesLookBack = 24 * time.Hour

	// maxReportPages bounds the pages of each list that one poll reads.
	maxReportPages = 1000
)

// Types of events (docs.stripe.com/api/events/types).
const (
	disputeClosed = "charge.dispute.closed"
	refundFailed  = "refund.failed"
	refundUpdated = "refund.updated"
	payoutFailed  = "payout.failed"
	payoutPaid    = "payout.paid"
	intentEvents  = "payment_intent."
)

// polledTypes are the types of events that a poll reads, in two lists that look back differently after a start.
var polledTypes = []struct {
	types    []string
	lookBack time.Duration
}{
	{[]string{disputeClosed, refundFailed, payoutFailed}, lookBack},
	{[]string{
		intentEvents + "succeeded", intentEvents + "amount_capturable_updated", intentEvents + "payment_failed", intentEvents + "canceled", refundUpdated, payoutPaid,
	}, changesLookBack},
}

// poll is what earlier polls of an account have covered. It is in memory only.
type poll struct {
	covered time.Time       // end of the period that is covered
	seen    map[string]bool // ids of the events in that period's end, which the next poll reads again
}

// NextReport returns the time of the next poll. It returns false if no terminal has an account.
func (p *Provider) NextReport(since time.Time) (time.Time, bool) {
	shortest := 0
	for _, t := range p.terminals() {
		if seconds := connectionOf(t).PollSeconds; seconds > 0 && (shortest == 0 || seconds < shortest) {
			shortest = seconds
		}
	}
	return since.Add(time.Duration(shortest) * time.Second), shortest > 0
}

// account is what a poll knows of an account: its terminals, and the shortest time between two polls that one of them asks for.
type account struct {
	terminals map[string]*directory.Terminal
	interval  time.Duration
}

func (p *Provider) accounts() map[accountKey]*account {
	all := make(map[accountKey]*account)
	for _, t := range p.terminals() {
		c := connectionOf(t)
		if c.SecretKey == "" || c.PollSeconds == 0 {
			continue // the parameters could not be decrypted
		}
		key, interval := accountOf(c), time.Duration(c.PollSeconds)*time.Second
		a := all[key]
		if a == nil {
			a = &account{terminals: make(map[string]*directory.Terminal), interval: interval}
			all[key] = a
		}
		a.terminals[t.ID.String()], a.interval = t, min(a.interval, interval)
	}
	return all
}

// Reports implements actors.Provider. It polls every account whose time has come for events: a dispute that is lost is a reversal;
// after each change of a charge that our own requests have not made, Stripe is asked about the charge. If an account cannot be
// polled, Reports logs this but does not return it, so that the other accounts' reports are not delayed. The next poll of that
// account covers the same period again.
func (p *Provider) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	accounts := p.accounts()
	p.forgetPolls(accounts)
	var reports []actors.Report
	for key, a := range accounts {
		earlier := p.pollOf(key)
		isRepeated := since.Before(earlier.covered) // the reports of the last poll were not handled
		if !isRepeated && !earlier.covered.IsZero() && until.Sub(earlier.covered) < a.interval {
			continue
		}
		if isRepeated {
			earlier = poll{covered: since}
		}
		found, covered, err := p.pollAccount(ctx, key, a, earlier, until)
		if err != nil {
			p.log.Warn("Stripe was not asked for events", "terminals", len(a.terminals), "error", err)
			continue // the period of the next poll begins at the same time
		}
		p.setPoll(key, covered)
		reports = append(reports, found...)
	}
	slices.SortStableFunc(reports, func(a, b actors.Report) int { return a.At.Compare(b.At) })
	return reports, ctx.Err()
}

func (p *Provider) pollOf(key accountKey) poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.polls[key]
}

func (p *Provider) setPoll(key accountKey, covered poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polls[key] = covered
}

// forgetPolls drops the accounts that no terminal uses any more.
func (p *Provider) forgetPolls(present map[accountKey]*account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.polls {
		if present[key] == nil {
			delete(p.polls, key)
		}
	}
}

// pollAccount returns the reports of one account, and what is covered now.
func (p *Provider) pollAccount(ctx context.Context, key accountKey, a *account, earlier poll, until time.Time) ([]actors.Report, poll, error) {
	covered := poll{covered: until, seen: make(map[string]bool)}
	var reports []actors.Report
	for _, list := range polledTypes {
		from := until.Add(-list.lookBack)
		if earlier.covered.After(from) {
			from = earlier.covered
		}
		events, err := p.listEvents(ctx, key, list.types, from.Add(-skew))
		if err != nil {
			return nil, poll{}, err
		}
		for _, e := range events {
			if time.Unix(e.Created, 0).After(until.Add(-2 * skew)) {
				covered.seen[e.ID] = true
			}
			if earlier.seen[e.ID] || e.Data == nil {
				continue
			}
			r, isReport, err := p.reportOf(ctx, key, a, e, until)
			if err != nil {
				return nil, poll{}, err
			}
			if isReport {
				reports = append(reports, r)
			}
		}
	}
	return reports, covered, nil
}

// listEvents returns the account's events of the types since a time, newest first.
func (p *Provider) listEvents(ctx context.Context, key accountKey, types []string, from time.Time) (events []*stripe.Event, err error) {
	var after *string
	for range p.reportPageBound {
		pageCtx, cancel := context.WithTimeout(ctx, p.timeout)
		page, f := do(pageCtx, p.client(key), func(ctx context.Context, c *client) (*stripe.V1List[*stripe.Event], error) {
			params := &stripe.EventListParams{Types: stripe.StringSlice(types), CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: from.Unix()}}
			params.Limit, params.StartingAfter, params.Single = stripe.Int64(pageSize), after, true
			list := c.V1Events.List(ctx, params)
			return list, list.Err()
		})
		cancel()
		if f != nil {
			return nil, f.problem()
		}
		events = append(events, page.Data()...)
		if !page.Meta().HasMore || len(page.Data()) == 0 {
			return events, nil
		}
		after = &page.Data()[len(page.Data())-1].ID
	}
	// The error is not returned, because another poll would end at the same page.
	p.log.Error("Stripe has more events than one poll reads: older ones are missed", "types", strings.Join(types, ", "), "found", len(events))
	return events, nil
}

// problem returns the fault as an error.
func (f *fault) problem() error {
	switch {
	case f.status == 401 || f.status == 403:
		return errors.New("the key was refused")
	case f.code() != "":
		return errors.New(f.cause + ": " + f.code())
	}
	return errors.New(f.cause)
}

// eventObject contains the members of an event's object that the adapter uses. The object is a PaymentIntent, a refund, a charge, a
// dispute or a payout.
type eventObject struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
	Intent   string            `json:"payment_intent"`
	Status   string            `json:"status"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
}

// reportOf returns the report that follows from an event, if there is one.
func (p *Provider) reportOf(ctx context.Context, key accountKey, a *account, e *stripe.Event, until time.Time) (r actors.Report, isReport bool, err error) {
	var o eventObject
	if json.Unmarshal(e.Data.Raw, &o) != nil {
		return r, false, nil
	}
	kind := string(e.Type)
	if strings.HasPrefix(kind, intentEvents) {
		if e.Request != nil && strings.HasPrefix(e.Request.IdempotencyKey, keyPrefix) {
			return r, false, nil // the answer to our own request says the same
		}
		r, isReport = a.report(o.Metadata, e, until)
		return r, isReport, nil
	}
	switch kind {
	case payoutPaid:
		r, isReport = a.report(o.Metadata, e, until)
		return r, isReport, nil
	case payoutFailed:
		if r, isReport = a.report(o.Metadata, e, until); isReport {
			p.log.Error("a payout has failed at Stripe, perhaps after it was booked as paid", "reference", r.Reference.String(), "terminal", r.Terminal.String(),
				"minor_units", o.Amount, "currency", o.Currency)
		}
		return r, isReport, nil
	case refundFailed:
		if t := a.terminals[o.Metadata[metaTerminal]]; t != nil {
			p.log.Error("a refund has failed at Stripe, perhaps after it was booked: the money is in the account's balance", "refund", o.Metadata[metaReference],
				"terminal", t.ID.String(), "minor_units", o.Amount, "currency", o.Currency)
		}
	case disputeClosed:
		if o.Status != string(stripe.DisputeStatusLost) {
			return r, false, nil
		}
	}
	if !isID(o.Intent, "pi_") {
		return r, false, nil
	}
	intentCtx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	in, f := readIntent(intentCtx, p.client(key), o.Intent)
	switch {
	case f != nil && f.isAbsent():
		return r, false, nil
	case f != nil:
		return r, false, f.problem()
	}
	if r, isReport = a.report(in.Metadata, e, until); isReport && kind == disputeClosed {
		r.Kind = actors.Reversal
		isReport = p.takesWholeCharge(r.Reference, r.Terminal, in, o.Amount)
	}
	return r, isReport, nil
}

// report returns the report that something has changed about the charge in the metadata. It returns false if the charge is of none
// of the account's terminals.
func (a *account) report(metadata map[string]string, e *stripe.Event, until time.Time) (actors.Report, bool) {
	t := a.terminals[metadata[metaTerminal]]
	reference, ok := parseReference(metadata, metaReference)
	if t == nil || !ok {
		return actors.Report{}, false
	}
	at := time.Unix(e.Created, 0)
	if at.After(until) {
		at = until
	}
	return actors.Report{Org: t.Org, Reference: reference, Terminal: t.ID, At: at, Kind: actors.Change}, true
}

// takesWholeCharge tells whether a lost dispute takes all that is left of the charge back. Our ledger reverses a charge only as a
// whole, so a smaller dispute is logged for an operator, who books the difference.
func (p *Provider) takesWholeCharge(reference, terminal ledger.ID, in *stripe.PaymentIntent, disputed int64) bool {
	left := in.AmountReceived
	if ch := in.LatestCharge; ch != nil && ch.Amount > 0 {
		left = ch.Amount - ch.AmountRefunded // a partial capture counts as a refund of the rest
	}
	if disputed >= left {
		return true
	}
	p.log.Error("a lost dispute takes less than the charge back, so the charge is not reversed", "reference", reference.String(), "terminal", terminal.String(),
		"disputed_minor_units", disputed, "charged_minor_units", left, "currency", string(in.Currency))
	return false
}

// readIntent reads any intent of the account, with its last charge.
func readIntent(ctx context.Context, c *client, id string) (*stripe.PaymentIntent, *fault) {
	return do(ctx, c, func(ctx context.Context, c *client) (*stripe.PaymentIntent, error) {
		params := &stripe.PaymentIntentRetrieveParams{}
		params.AddExpand("latest_charge")
		return c.V1PaymentIntents.Retrieve(ctx, id, params)
	})
}

// InquireReport implements ReportInquirer of actors/payment: it asks Stripe about a charge that has ended here. If no answer
// comes, InquireReport returns false, and a reversal is found by the next poll.
func (p *Provider) InquireReport(ctx context.Context, q *actors.Inquiry) (actors.Report, bool) {
	s := subject{terminal: q.Terminal, reference: q.Reference, operation: q.Operation, ChargeState: q.ChargeState}
	s.readMeta()
	if s.intent == "" || q.Operation != actors.Pay {
		return actors.Report{}, false
	}
	in, f := p.read(ctx, &s, "latest_charge")
	if f != nil || in.Status != stripe.PaymentIntentStatusSucceeded {
		return actors.Report{}, false
	}
	r := actors.Report{Org: q.Terminal.Org, Reference: q.Reference, Terminal: q.Terminal.ID, At: p.clock.Now(), Kind: actors.LateSettlement}
	if in.LatestCharge == nil || !in.LatestCharge.Disputed {
		return r, true
	}
	lost, f := findInList(ctx, p.clientOf(&s), pageSize,
		func(ctx context.Context, c *client, after *string) *stripe.V1List[*stripe.Dispute] {
			params := &stripe.DisputeListParams{PaymentIntent: &s.intent}
			params.Limit, params.StartingAfter, params.Single = stripe.Int64(pageSize), after, true
			return c.V1Disputes.List(ctx, params)
		},
		func(d *stripe.Dispute) (string, bool) { return d.ID, d.Status == stripe.DisputeStatusLost })
	switch {
	case f != nil:
		p.logFault(&s, f, "disputes")
		return actors.Report{}, false
	case lost == nil:
		return r, true
	}
	r.Kind = actors.Reversal
	return r, p.takesWholeCharge(q.Reference, q.Terminal.ID, in, lost.Amount)
}
