package payments

import (
	"cmp"
	"context"
	"net"
	"time"

	"mizan/api/auth"
	"mizan/api/web"
	"mizan/api/web/conn"
	"mizan/api/web/journal"
	"mizan/internal/fair"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of aggregates: responses with sums of a partner's transactions. An aggregate may read every
// transaction of an organization, and while it does, payments have less processor time.
const (
	maxAggregates        = 2                      // aggregates that run at once
	maxAggregateQueue    = 32                     // aggregates that wait
	maxPartnerAggregates = 8                      // aggregates of one partner that run or wait
	aggregateTurn        = 100 * time.Millisecond // time for which an aggregate runs before it lets others run
	aggregateWait        = 3 * time.Second        // maximum wait for the first turn if Config sets none
	aggregateRunTime     = 20 * time.Second       // total time of an aggregate's turns
	checkEvery           = 256                    // rows or records that are read between two checks of the deadline and of the caller's connection
)

// aggregateGate limits the number of aggregates that run at once. Organizations take turns, and so do
// the partners of each organization. After each aggregateTurn, a running aggregate pauses and lets
// waiting aggregates run, so that they need not wait until a long aggregate ends.
type aggregateGate struct {
	gate *fair.Gate[aggregateOwner]
	wait time.Duration
}

// aggregateOwner identifies a party that takes turns: an organization or, if partner is not 0, one of
// its partners.
type aggregateOwner struct {
	org     ledger.ID
	partner int64 // 0: the organization itself
}

func newAggregateGate(wait time.Duration) *aggregateGate {
	return &aggregateGate{
		wait: cmp.Or(wait, aggregateWait),
		gate: fair.New[aggregateOwner](fair.Bounds{MaxInside: maxAggregates, MaxWaiting: maxAggregateQueue, PerMember: maxPartnerAggregates}),
	}
}

// aggregate is GET /transactions/aggregate.
func (h *Handlers) aggregate(req *web.Request) error {
	now := h.cfg.Clock.Now()
	q := newAggregateQuery(req.RequestCtx, now)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	place, err := h.aggregateGate.enter(h.cfg.Serving, &req.Principal)
	if err != nil {
		return err
	}
	budget := runBudget{ctx: h.cfg.Serving, conn: req.Conn(), deadline: time.Now().Add(aggregateRunTime), place: place}
	defer budget.leave()
	view := h.cfg.Journal.View()
	defer view.Close()
	a := aggregate{
		listWalk: listWalk{view: view, org: req.Principal.Org, list: q.listOf(req)},
		query:    q, partner: req.Principal.Partner.Number, groups: make(map[aggregateKey]*sums),
		budget: &budget,
	}
	if err := a.run(); err != nil {
		return err
	}
	asOf, err := journal.LastBooked(view, req.Principal.Org, now)
	if err != nil {
		return err
	}
	a.write(req, asOf)
	return nil
}

// enter waits until it is the caller's turn to run an aggregate.
func (a *aggregateGate) enter(serving context.Context, caller *auth.Principal) (*fair.Place[aggregateOwner], error) {
	ctx, cancel := context.WithTimeout(serving, a.wait)
	defer cancel()
	place, err := a.gate.Enter(ctx, aggregateOwner{org: caller.Org}, aggregateOwner{caller.Org, caller.Partner.Number})
	switch {
	case err == nil:
		return place, nil
	case serving.Err() != nil:
		return nil, unavailable("the service is stopping")
	}
	return nil, unavailable("too many aggregates are under way").By(ledger.LimitAggregates)
}

func unavailable(reason string) *ledger.Refusal {
	return ledger.Refuse("payments.aggregate", ledger.Unavailable, "%s", reason)
}

// run computes the sums in the cheaper of two ways. It reads either the part of the index (the partner's
// transaction list) between the requested times, or all records of the organization.
func (a *aggregate) run() error {
	filter := &a.query.transactionFilter
	a.span = filter.started
	if filter.started.from == 0 && filter.updated.from > 0 {
		a.span, a.byUpdate = filter.updated, true
	}
	readAll, err := a.scanIsCheaper()
	if err != nil {
		return err
	}
	if !readAll {
		return a.each(a.addRow)
	}
	return a.view.Records(a.org, ledger.Transaction, func(_ ledger.ID, stored posting.Record) (bool, error) {
		if err := a.budget.check(); err != nil {
			return false, err
		}
		return true, a.addIfMatching(&stored)
	})
}

// Finding one record by its id costs about as much as reading costOfSearch records in the order of their
// keys (measured by BenchmarkTransactions). A payment causes about usualEvents events.
const (
	costOfSearch = 3
	usualEvents  = 5
)

// scanIsCheaper tells whether it is cheaper to read all records of the organization than to find each
// record in the index by its id. It counts the rows of the index only until the decision is clear.
func (a *aggregate) scanIsCheaper() (bool, error) {
	eventCount, _, err := a.view.Head(a.org)
	if err != nil {
		return false, err
	}
	maxSearches := eventCount / (usualEvents * costOfSearch)
	searches := uint64(0)
	err = a.each(func(row posting.ListRow) (bool, error) {
		if a.byUpdate || row.IsCreation {
			searches++
		}
		return searches <= maxSearches, a.budget.check()
	})
	return searches > maxSearches, err
}

// addRow adds the transaction of an index row. A transaction has several rows in the index, but is added
// only once: for the row of its creation or, if the index is read in the order of updates, for the row
// of its last update.
func (a *aggregate) addRow(row posting.ListRow) (bool, error) {
	if err := a.budget.check(); err != nil {
		return false, err
	}
	if !a.byUpdate && !row.IsCreation {
		return true, nil
	}
	stored, err := a.recordOf(row)
	if err != nil || a.byUpdate && stored.Header.UpdatedAt != row.Booked {
		return true, err
	}
	return true, a.addIfMatching(&stored)
}

// addIfMatching adds a record if it meets the request's conditions.
func (a *aggregate) addIfMatching(stored *posting.Record) error {
	filter := &a.query.transactionFilter
	if !filter.matchesTimes(&stored.Header) {
		return nil
	}
	record, err := transactionOf(stored)
	if err != nil || record.Partner != a.partner || record.Asset.Env != filter.env || !filter.matches(record) {
		return err
	}
	return a.add(record, &stored.Header)
}

// runBudget ends an aggregate whose caller has disconnected or that takes too long.
type runBudget struct {
	ctx      context.Context // the context of the server
	conn     net.Conn        // the caller's connection
	deadline time.Time
	place    *fair.Place[aggregateOwner] // the aggregate's place among the running ones; nil if it has none
	checks   int                         // number of calls of check
}

// leave gives up the aggregate's place, so that another aggregate may run.
func (b *runBudget) leave() {
	if b.place != nil {
		b.place.Leave()
	}
}

// yield lets waiting aggregates run. The time until this aggregate's next turn is not part of its
// running time, so it moves the deadline.
func (b *runBudget) yield() error {
	if b.place == nil {
		return nil
	}
	waited, err := b.place.Yield(b.ctx, aggregateTurn)
	b.deadline = b.deadline.Add(waited)
	if err != nil {
		b.place = nil
		return unavailable("the service is stopping")
	}
	return nil
}

// check returns an error if the aggregate must end. To be cheap, only the first of every checkEvery
// calls examines anything.
func (b *runBudget) check() error {
	if b.checks++; b.checks%checkEvery != 1 {
		return nil
	}
	select {
	case <-b.ctx.Done():
		return unavailable("the service is stopping")
	default:
	}
	if time.Now().After(b.deadline) {
		return unavailable("there is too much to add up: ask for a shorter time")
	}
	if conn.IsClosedByPeer(b.conn) {
		return unavailable("the caller has gone")
	}
	return b.yield()
}
