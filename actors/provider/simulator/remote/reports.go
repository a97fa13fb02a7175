package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mizan/actors"
)

const (
	// reportInterval is the time between two polls for reports.
	reportInterval = time.Second

	// pageSize is the number of reports in one answer. More reports are sent only if they have the same time.
	pageSize = 4096
)

// poll is the period of one call of Reports.
type poll struct {
	until   time.Time // end of the period that the caller asked for
	from    time.Time // start of the period that the server was asked for
	covered time.Time // end of the period whose reports were returned; earlier than until if the server's clock is behind ours
}

// NextReport returns the time of the next poll.
func (p *Provider) NextReport(since time.Time) (time.Time, bool) {
	return since.Add(reportInterval), true
}

// Reports implements actors.Provider. The caller passes the end of its last successful period as since. If the server has not
// covered that period to its end, the new period begins where the server stopped.
func (p *Provider) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock() // also during the requests: there is only one poll at a time
	from := since
	switch last := p.lastPoll; {
	case since.Equal(last.until):
		from = earlier(since, last.covered)
	case since.Before(last.until): // the caller could not use the last poll's reports
		from = earlier(since, last.from)
	}
	var reports []actors.Report
	covered := from
	for more := true; more; {
		deadline := earlier(deadlineOf(ctx), time.Now().Add(p.timeout))
		var answer reportsMessage
		question := periodMessage{Since: covered.UnixMicro(), Until: until.UnixMicro(), Wait: int64(time.Until(deadline))}
		if failed := p.exchange(ctx, deadline, reportsPath, &question, &answer); failed != nil {
			return nil, fmt.Errorf("remote: reports: %w", failed)
		}
		for i := range answer.Reports {
			r := &answer.Reports[i]
			reports = append(reports, actors.Report{Org: r.Org, Reference: r.Reference, Terminal: r.Terminal, At: time.UnixMicro(r.At).UTC(), Kind: actors.Reversal})
		}
		if more = answer.More; more && answer.Covered <= question.Since {
			return nil, errors.New("remote: reports: a page covers no time")
		}
		covered = time.UnixMicro(answer.Covered).UTC()
	}
	p.lastPoll = poll{until: until, from: from, covered: earlier(until, covered)}
	return reports, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
