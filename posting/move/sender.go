package move

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// Destination is the Receiver of the other shard, perhaps on another node. Its methods correspond to those of Receiver. An error
// that is not a *ledger.Refusal with the code Conflict or Invalid says that the result is unknown.
type Destination interface {
	Begin(ctx context.Context, org ledger.ID, m Identity) error
	Rows(ctx context.Context, org, move ledger.ID, number uint64, rows []posting.MovedRow) error
	Check(ctx context.Context, org, move ledger.ID, number uint64) error
	Finish(ctx context.Context, org, move ledger.ID, number uint64, head Head) error
	Abandon(ctx context.Context, org, move ledger.ID) (posting.Placement, error)
}

// NewID returns an id for a move that begins now.
func NewID() ledger.ID {
	id, err := uuid.NewV7()
	assert.NoError(err) // only a computer without randomness fails
	return id
}

// StartOf returns the instant at which a move began, in milliseconds, from its id.
func StartOf(id ledger.ID) time.Time {
	return time.Unix(id.Time().UnixTime()).UTC()
}

// Order describes a move.
type Order struct {
	Journal  *posting.Journal
	Org      ledger.ID
	From, To int // shards
	Other    Destination

	ID   ledger.ID // of the move, see NewID
	Term uint64    // of the lead of shard From

	OnProgress func(Progress) // called now and then
	OnFence    func()         // called before the organization is fenced
}

// Result describes a move that has ended.
type Result struct {
	Progress
	Pause time.Duration // how long the organization was fenced
}

const (
	shortRound = 200 * time.Millisecond // when a round takes at most as long, the organization can be fenced: the last round will be similar
	maxRounds  = 30                     // rounds after which an organization is taken to change faster than it can be copied
	fenceTime  = 10 * time.Second       // how long an organization may be fenced before the move is given up
	retryTime  = 100 * time.Millisecond
)

// Run moves the organization. ctx ends when the node no longer leads the shard. If Run returns an error, the organization has
// stayed, unless ctx has ended: then it may still be leaving, and the next leader must call Resolve.
func Run(ctx context.Context, o Order) (Result, error) {
	s := &sender{Order: o, move: o.ID}
	s.batch.send = func(rows []posting.MovedRow) error {
		defer func() { o.OnProgress(s.batch.total) }()
		return o.Other.Rows(s.ctx, o.Org, s.move, s.nextStep(), rows)
	}
	return s.run(ctx)
}

type sender struct {
	Order
	ctx      context.Context
	move     ledger.ID
	batch    batch
	removals *posting.Removals
	reader   balances.Reader
	copied   uint64 // number of the last group whose rows were copied; 0: none
	steps    uint64 // number of the last step
}

// nextStep returns the number of the next step.
func (s *sender) nextStep() uint64 {
	s.steps++
	return s.steps
}

func (s *sender) run(ctx context.Context) (r Result, err error) {
	s.ctx = ctx
	current := s.Journal.Placement(s.Org)
	if current.State != store.Here {
		return r, ledger.Refuse("move.Run", ledger.Conflict, "the organization is %v", current.State)
	}
	group, _ := s.Journal.LastGroup()
	identity := Identity{s.move, s.From, posting.MoveOrder{Term: s.Term, Group: group}}
	if err := s.Other.Begin(ctx, s.Org, identity); err != nil {
		return r, s.abandon(err)
	}
	removals, end := s.Journal.WatchRemovals(s.Org)
	defer end()
	s.removals = removals
	if err := s.copyWhileServing(); err != nil {
		return r, s.abandon(err)
	}
	s.OnFence()
	leaving := posting.Placement{State: store.Leaving, Shard: s.To, Move: s.move, Order: identity.Order}
	if err := submit(s.Journal, &posting.Move{Org: s.Org, Expect: current, Next: &leaving}); err != nil {
		return r, s.abandon(err)
	}
	fencedAt := time.Now()
	err = s.finish(leaving)
	if resolveErr := Resolve(ctx, s.Journal, s.Org, s.Other); resolveErr != nil {
		return r, errors.Join(err, resolveErr)
	}
	r.Pause, r.Progress = time.Since(fencedAt), s.batch.total
	if s.Journal.Placement(s.Org).State == store.Left {
		return r, nil
	}
	if err == nil {
		err = ledger.Refuse("move.Run", ledger.Unavailable, "the other shard has given up the move")
	}
	return r, err
}

// abandon gives up a copy after an error, which it returns. The organization was not fenced yet.
func (s *sender) abandon(cause error) error {
	_, err := s.Other.Abandon(s.ctx, s.Org, s.move)
	return errors.Join(cause, err)
}

// copyWhileServing copies rows until a round is short.
func (s *sender) copyWhileServing() error {
	isChecked := false
	for range maxRounds {
		began := time.Now()
		if err := s.copyRound(); err != nil {
			return err
		}
		if time.Since(began) > shortRound {
			continue
		}
		if isChecked {
			return nil
		}
		// The same slow work follows the fence, and then there is little of it left.
		if err := s.flushPages(s.Journal.Placement(s.Org)); err != nil {
			return err
		}
		if err := s.copyRound(); err != nil {
			return err
		}
		view := s.Journal.View()
		_, err := headOf(&s.reader, view, s.Org)
		view.Close()
		if err == nil {
			err = s.Other.Check(s.ctx, s.Org, s.move, s.nextStep())
		}
		if err != nil {
			return err
		}
		isChecked = true
	}
	return ledger.Refuse("move.Run", ledger.Unavailable, "the organization changes faster than it can be copied")
}

// copyRound copies what has changed since the last round.
func (s *sender) copyRound() error {
	removed, isComplete := s.removals.Take()
	if !isComplete {
		return ledger.Refuse("move.Run", ledger.Unavailable, "too many rows of the organization are removed")
	}
	// Rows are noted as removed before that is durable. The empty change makes the view show all that Take has returned.
	if err := s.Journal.SubmitAndWait(&posting.Change{}).Err; err != nil {
		return err
	}
	view := s.Journal.View()
	defer view.Close()
	for _, key := range removed {
		isStored, err := view.HasRow(key)
		if err == nil && !isStored {
			err = s.batch.add(posting.MovedRow{Key: key})
		}
		if err != nil {
			return err
		}
	}
	err := view.EachMovingRow(s.Org, s.copied, func(row posting.MovedRow) (bool, error) {
		return true, errors.Join(s.batch.add(row), s.ctx.Err())
	})
	if err == nil {
		err = s.batch.flush()
	}
	s.copied = view.Group()
	return err
}

// flushPages moves the organization's lines from the page buffer to stored pages.
func (s *sender) flushPages(placement posting.Placement) error {
	for {
		m := &posting.Move{Org: s.Org, Expect: placement, FlushesPages: true}
		if err := submit(s.Journal, m); err != nil || !m.PagesLeft {
			return err
		}
	}
}

// finish copies the last rows of a fenced organization, and makes the other shard take it over.
func (s *sender) finish(leaving posting.Placement) error {
	ctx, cancel := context.WithTimeout(s.ctx, fenceTime)
	defer cancel()
	s.ctx = ctx
	if err := s.flushPages(leaving); err != nil {
		return err
	}
	if err := s.copyRound(); err != nil {
		return err
	}
	view := s.Journal.View()
	defer view.Close()
	head, err := headOf(&s.reader, view, s.Org)
	if err != nil {
		return err
	}
	return s.Other.Finish(ctx, s.Org, s.move, s.nextStep(), head)
}

// Resolve ends the state "leaving" of an organization: it asks the other shard to give the move up, and learns from the answer
// whether the other shard has taken the organization over before. It repeats that until the other shard answers.
func Resolve(ctx context.Context, j *posting.Journal, org ledger.ID, other Destination) error {
	for {
		leaving := j.Placement(org)
		if leaving.State != store.Leaving {
			return nil
		}
		there, err := other.Abandon(ctx, org, leaving.Move)
		if err == nil {
			next := leaving
			switch next.State = store.Left; { // unless the copy was abandoned, the organization was taken over, and may have moved on since
			case there.Move == (ledger.ID{}):
				return ledger.Refuse("move.Resolve", ledger.Conflict, "shard %d does not know the move: one of the shards has older files than it has acknowledged", leaving.Shard)
			case there.State == store.Abandoned && there.Move == leaving.Move:
				next.State = store.Here
			case there.State == store.Arriving:
				return ledger.Refuse("move.Resolve", ledger.Unavailable, "the organization arrives in shard %d again", leaving.Shard)
			}
			err = submit(j, &posting.Move{Org: org, Expect: leaving, Next: &next})
			if err == nil || ledger.IsRefusal(err, ledger.Conflict) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryTime):
		}
		if errors.Is(err, posting.ErrStopped) {
			return err
		}
	}
}

// submit makes a Move durable. What ends a move is recorded on a full disk too: if the organization stayed fenced, no shard would
// serve it.
func submit(j *posting.Journal, m *posting.Move) error {
	ends := m.Next != nil && m.Next.State != store.Leaving && m.Next.State != store.Arriving
	return j.SubmitAndWait(&posting.Change{Move: m, MustRecord: ends}).Err
}
