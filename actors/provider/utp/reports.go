package utp

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

const (
	// reportInterval is the time (of the business clock) between two polls of a platform. A poll finds
	// charges that have ended here but changed there.
	reportInterval = 5 * time.Minute

	// lookBack is the length of the period that the first poll after a start covers.
	lookBack = 30 * 24 * time.Hour

	// maxReportPages bounds the pages that one poll reads. The bound is high because a platform may
	// examine only a few transactions per page, so many pages may be empty.
	maxReportPages = 100_000
)

// reportedStatuses lists the statuses for which a platform is polled, each with the kind of report that follows from it.
var reportedStatuses = []struct {
	status string
	what   actors.ReportKind
}{{statusReversed, actors.Reversal}, {statusFailed, actors.Correction}}

// NextReport returns the time of the next poll. It returns false if no terminal is connected to a platform.
func (p *Provider) NextReport(since time.Time) (time.Time, bool) {
	if len(p.terminals()) == 0 {
		return time.Time{}, false
	}
	return since.Add(reportInterval), true
}

// Reports implements actors.Provider. It polls every connected platform for charges that were reversed or failed in
// the period. The periods of two polls overlap, because the clocks of the platforms differ; a report that is already
// known changes nothing. If a platform cannot be polled, Reports logs the failure but does not return it, so that
// the other platforms' reports are not delayed. The next poll of that platform covers the same period again.
func (p *Provider) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	if since.Before(until.Add(-lookBack)) {
		since = until.Add(-lookBack)
	}
	terminals := make(map[account]map[string]*directory.Terminal)
	for _, t := range p.terminals() {
		a := accountOf(t)
		if terminals[a] == nil {
			terminals[a] = make(map[string]*directory.Terminal)
		}
		terminals[a][t.ID.String()] = t
	}
	p.forgetAccounts(terminals)
	var reports []actors.Report
	for a, accountTerminals := range terminals {
		from := p.beginPoll(a, since)
		found, err := p.reportsOf(ctx, a, accountTerminals, from, until)
		if err != nil {
			p.log.Warn("a platform was not asked for reports", "terminals", len(accountTerminals), "error", err)
			continue // the period of the next poll begins at the same time
		}
		p.endPoll(a)
		reports = append(reports, found...)
	}
	slices.SortStableFunc(reports, func(a, b actors.Report) int { return a.At.Compare(b.At) })
	return reports, ctx.Err()
}

// beginPoll returns the start of the period for which a platform is polled. If the last poll failed, this is the
// start of that poll's period. The start is kept until endPoll.
func (p *Provider) beginPoll(a account, since time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier, isBehind := p.pollFrom[a]; isBehind && earlier.Before(since) {
		return earlier
	}
	p.pollFrom[a] = since
	return since
}

func (p *Provider) endPoll(a account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pollFrom, a)
}

// forgetAccounts drops the accounts that no terminal uses any more.
func (p *Provider) forgetAccounts(present map[account]map[string]*directory.Terminal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a := range p.pollFrom {
		if present[a] == nil {
			delete(p.pollFrom, a)
		}
	}
}

// reportsOf returns the reports of one account. The merchant_meta in a transaction, which we sent with the charge, says to
// which of the account's terminals the transaction belongs.
func (p *Provider) reportsOf(ctx context.Context, a account, terminals map[string]*directory.Terminal, from, until time.Time) ([]actors.Report, error) {
	var reports []actors.Report
	for _, r := range reportedStatuses {
		query := url.Values{"status": {r.status}, "updated_from": {queryTime(from.Add(-skew))}, "order_by": {"updated"}}
		refusal, err := p.walkList(ctx, a, query, p.reportPageBound, func(tx *transaction) bool {
			if t := terminals[tx.terminalID]; t != nil {
				if id, isOurs := tx.ourReference(); isOurs {
					reports = append(reports, tx.report(t, id, r.what, until))
				}
			}
			return true
		})
		switch {
		case errors.Is(err, errTooManyPages): // not returned, because another poll would end at the same page
			p.log.Error("a platform has more to report than one poll reads: older reversals and failures are missed", "status", r.status, "found", len(reports))
		case err != nil:
			return nil, err
		}
		if refusal != nil {
			return nil, refusal.problem()
		}
	}
	return reports, nil
}

// report makes a report about our transaction. The report's time is the time at which the transaction finished.
// If the other platform does not show this time, or shows a time after readAt, the report's time is readAt.
func (tx *transaction) report(t *directory.Terminal, reference ledger.ID, what actors.ReportKind, readAt time.Time) actors.Report {
	at := tx.finishedAt
	if at.IsZero() || at.After(readAt) {
		at = readAt
	}
	failure := tx.failure(payment.ProcessingError, reasonFailed)
	if what == actors.Reversal {
		failure = payment.Failure{Detail: cmp.Or(tx.reason, reasonTakenBack)}
	}
	return actors.Report{Org: t.Org, Reference: reference, Terminal: t.ID, At: at, Kind: what, Failure: failure}
}

// InquireReport implements ReportInquirer of actors/payment: it asks the other platform about a charge that has ended here.
// If no response comes, Examine returns false, and a reversal or a failure is found by the next poll.
func (p *Provider) InquireReport(ctx context.Context, q *actors.Inquiry) (actors.Report, bool) {
	s := subject{terminal: q.Terminal, reference: q.Reference, operation: q.Operation, ChargeState: q.ChargeState}
	tx, _ := p.find(ctx, &s)
	if tx == nil {
		return actors.Report{}, false
	}
	what := actors.LateSettlement
	switch {
	case tx.status == statusReversed:
		what = actors.Reversal
	case tx.status == statusFailed:
		what = actors.Correction
	case !tx.hasSettled():
		return actors.Report{}, false
	}
	return tx.report(q.Terminal, q.Reference, what, p.clock.Now()), true
}
