package period

import (
	"errors"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/posting/balances"
)

// Service closes months.
type Service struct {
	rt          *actors.Runtime
	wait        time.Duration // closeWait, unless a test has changed it
	balanceTurn chan struct{} // has one element while a trial balance is read

	afterRead func() // test hook: called between reading a trial balance and submitting its closing
}

// closeWait is the real time that a request waits for its turn to read the trial balance, and until its Change is durable.
const closeWait = 30 * time.Second

// maxTries bounds how often one request computes the closing. If an entry with a date in the month is booked before
// the closing is stored, the closing must be computed again.
const maxTries = 16

// New makes the service.
func New(rt *actors.Runtime) *Service {
	return &Service{rt: rt, wait: closeWait, balanceTurn: make(chan struct{}, 1)}
}

// CloseRequest is a request to close a month.
type CloseRequest struct {
	Org      ledger.ID
	Month    period.Month
	ClosedBy period.ClosedBy
	Key      actors.Key
	Author   ledger.Author
}

// Result is a closed month in the response to a request.
type Result struct {
	Record *period.Record
	Replay bool // the month was already closed by an earlier request with the same key
}

// Close closes a month of the organization. It returns a *ledger.Refusal with one of three codes. Invalid: the month is
// before the first month of the books. Conflict: the month is already closed, has not ended, is not the next one to close,
// or has due items that are not booked yet. Unavailable: entries with a date in the month are booked again and again, or
// closeWait has passed; in this case alone the closing may still be stored. Any other error comes from the store.
func (s *Service) Close(c CloseRequest) (Result, error) {
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	if r, found, err := s.findClosedByKey(&c); found || err != nil {
		return r, err
	}
	select {
	case s.balanceTurn <- struct{}{}:
		defer func() { <-s.balanceTurn }()
	case <-timer.C:
		return Result{}, errTimedOut()
	}
	for try := range maxTries {
		if try == 1 {
			defer s.rt.Journal.Fence(c.Org, c.Month)() // from now on commands with a date in the month are refused
		}
		record, change, err := s.prepare(&c)
		if err != nil {
			return s.closedByKeyOrRefusal(&c, err)
		}
		if s.afterRead != nil {
			s.afterRead()
		}
		receipts := make(chan posting.Receipt, 1)
		s.rt.Journal.Submit(change, func(r posting.Receipt) { receipts <- r })
		select {
		case r := <-receipts:
			if r.Err == nil {
				record.At, record.Seq = r.Headers[0].StartedAt, r.Headers[0].LastSeq
				return Result{Record: record}, nil
			}
			if !ledger.IsRefusal(r.Err, ledger.StaleVersion) {
				return s.closedByKeyOrRefusal(&c, toClientRefusal(r.Err))
			}
		case <-timer.C:
			return Result{}, errTimedOut()
		}
	}
	return Result{}, ledger.Refuse("period.Close", ledger.Unavailable, "entries dated in %v are booked again and again: try again later", c.Month)
}

// toClientRefusal replaces the writer's refusal during a batched action by one that a client understands.
func toClientRefusal(err error) error {
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) && refusal.Code == ledger.Conflict && refusal.Detail == ledger.BatchedActionsKey {
		return ledger.Refuse("period.Close", ledger.Conflict, "a distribution to the holders of certificates is under way: ask again when it is done")
	}
	return err
}

func errTimedOut() error {
	return ledger.Refuse("period.Close", ledger.Unavailable, "the month is not closed yet; send the request again, with the same key")
}

// prepare checks whether the month can be closed, and computes its closing.
func (s *Service) prepare(c *CloseRequest) (*period.Record, *posting.Change, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	books, err := s.readBooks(view, c)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Month.CheckClose(books); err != nil {
		return nil, nil, err
	}
	lastSeq, _, err := view.Head(c.Org)
	if err != nil {
		return nil, nil, err
	}
	r := &period.Record{Month: c.Month, ClosedBy: c.ClosedBy}
	if r.BalanceHash, r.Rows, err = balances.MonthEndHash(view, c.Org, c.Month); err != nil {
		return nil, nil, err
	}
	change := &posting.Change{
		Author:   c.Author,
		Counters: []ledger.CounterGuard{ledger.RefuseDuringBatches(c.Org)},
		Close:    &posting.Closing{Org: c.Org, Month: c.Month, SeenSeq: lastSeq},
		Steps: []posting.Step{{
			Org: c.Org, Source: c.Month.Source(), Record: period.AppendRecord(nil, r), Events: []ledger.Event{r.Event()}, Finish: true,
		}},
	}
	if !c.Key.IsZero() {
		change.Claims = []ledger.Claim{c.Key.Claim(c.Org, c.Month.Source(), nil)}
	}
	return r, change, nil
}

// readBooks reads the state of the organization's books. Due items that are added later need no check: they
// take effect on the first open day.
func (s *Service) readBooks(view *posting.View, c *CloseRequest) (books period.Books, err error) {
	books.Now = ledger.MicrosOf(s.rt.Clock.Now())
	books.FirstMonth = period.MonthOf(books.Now.Date())
	err = view.EventsAscending(c.Org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		books.FirstMonth = period.MonthOf(e.Booked.Date())
		return false, nil
	})
	if err != nil {
		return books, err
	}
	if books.LastClosed, err = view.LastClosedMonth(c.Org); err != nil {
		return books, err
	}
	// If the clock has jumped ahead, items that are due now may not be loaded yet.
	if err = s.rt.Journal.Due.LookAhead(books.Now.Time()); err != nil {
		return books, err
	}
	books.PendingItems = s.rt.Journal.Due.Overdue(c.Org, c.Month.End(), books.Now)
	return books, nil
}

// findClosedByKey returns the month that was closed by an earlier request with the same key. It returns
// false if there was no such request, and Conflict if the key was used for a different request.
func (s *Service) findClosedByKey(c *CloseRequest) (Result, bool, error) {
	if c.Key.IsZero() {
		return Result{}, false, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	source, _, found, err := c.Key.Find(view, c.Org)
	if err != nil || !found {
		return Result{}, false, err
	}
	m, ok := period.FromID(source.ID)
	if source.Kind != ledger.Period || !ok {
		return Result{}, false, errDamagedClaim
	}
	r, err := view.Period(c.Org, m)
	if err == nil && r == nil {
		err = errDamagedClaim
	}
	return Result{Record: r, Replay: true}, err == nil, err
}

var errDamagedClaim = errors.New("period: the claim of an idempotency key names no closed month")

// closedByKeyOrRefusal returns the refusal, unless another request with the same key has closed the month
// meanwhile; then it returns the closed month.
func (s *Service) closedByKeyOrRefusal(c *CloseRequest, refusal error) (Result, error) {
	if r, found, err := s.findClosedByKey(c); found || err != nil {
		return r, err
	}
	return Result{}, refusal
}
