package moves

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mizan/api"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/move"
	"mizan/posting/store"
)

// Directory is the directory of the shard's organizations.
type Directory interface {
	Arrive(ctx context.Context, org ledger.ID) error
	Organization(org ledger.ID) (found bool)
}

// Notifier delivers the notifications of the shard's organizations.
type Notifier interface {
	Arrive(org ledger.ID)
	Depart(org ledger.ID)
}

// Payments are the payments of the shard's organizations.
type Payments interface {
	PollAgain() // asks the providers for all reports
}

// Options configure a Mover.
type Options struct {
	Shard     int
	Term      uint64 // of the lead
	Journal   *posting.Journal
	Directory Directory
	Payments  Payments
	Notifier  Notifier
	Log       *slog.Logger

	// Ask lets the leader of another shard carry out a step (see api.Front.AskMove).
	Ask func(ctx context.Context, step api.MoveStep) ([]byte, error)

	// Restart ends the shard's engine, and another one begins.
	Restart func()
}

// Mover implements api.Mover.
type Mover struct {
	Options
	receiver *move.Receiver
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	unsettledCount atomic.Int32 // length of unsettled, so that requests need no lock

	mu        sync.Mutex
	statuses  []*api.MoveStatus  // guarded by mu: in the order in which the moves began
	unsettled map[ledger.ID]bool // guarded by mu: see Locate
	departed  map[ledger.ID]bool // guarded by mu: organizations of which the engine still has something in memory, because they were here
}

var _ api.Mover = (*Mover)(nil)

// Start begins the Mover of an engine. It settles the moves that an earlier leader has left unfinished, and shows those that earlier
// leaders have finished, as the store has them.
func Start(o Options) *Mover {
	m := &Mover{Options: o, unsettled: make(map[ledger.ID]bool), departed: make(map[ledger.ID]bool)}
	m.receiver = move.NewReceiver(o.Journal)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for org, p := range o.Journal.Placements() {
		switch p.State {
		case store.Leaving:
			m.setUnsettled(org, true)
			status := m.newStatus(org, p.Shard, p.Move, api.MoveCopying)
			m.statuses = append(m.statuses, status)
			m.running.Go(func() {
				m.settle(org, p.Shard)
				m.showSettled(org, status)
			})
		case store.Left:
			m.statuses = append(m.statuses, m.newStatus(org, p.Shard, p.Move, api.MoveEnded))
		}
	}
	slices.SortFunc(m.statuses, func(a, b *api.MoveStatus) int { return strings.Compare(a.StartedAt, b.StartedAt) })
	m.statuses = m.statuses[max(0, len(m.statuses)-maxShown):]
	return m
}

// startFormat is RFC 3339 in milliseconds.
const startFormat = "2006-01-02T15:04:05.000Z07:00"

func (m *Mover) newStatus(org ledger.ID, to int, id ledger.ID, state string) *api.MoveStatus {
	return &api.MoveStatus{Organization: org.String(), From: m.Shard, To: to, State: state, StartedAt: move.StartOf(id).Format(startFormat)}
}

// Cancel makes the moves end. What they leave unfinished, the next leader settles.
func (m *Mover) Cancel() { m.cancel() }

// Stop waits for the end of the moves. Cancel must be called before.
func (m *Mover) Stop() { m.running.Wait() }

// settle ends the state "leaving" of an organization, which an earlier leader has left.
func (m *Mover) settle(org ledger.ID, to int) {
	for {
		err := move.Resolve(m.ctx, m.Journal, org, destination{m, to})
		if m.ctx.Err() != nil {
			return
		}
		if err == nil {
			break
		}
		m.Log.Error("it is unknown which shard has an organization", "organization", org.String(), "shard", m.Shard, "other", to, "error", err)
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(settleEvery):
		}
	}
	m.settled(org)
}

// showSettled shows the end of a move that an earlier leader has left unfinished.
func (m *Mover) showSettled(org ledger.ID, status *api.MoveStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.Journal.Placement(org).State {
	case store.Left:
		status.State = api.MoveEnded
	case store.Here:
		text := "the shard has got another leader during the move"
		status.State, status.Error = api.MoveFailed, &text
	}
}

// settleEvery is the time after which the other shard is asked again.
const settleEvery = 5 * time.Second

// settled makes the engine serve an organization that has stayed, or forget one that has left.
func (m *Mover) settled(org ledger.ID) {
	if m.Journal.Placement(org).State != store.Here {
		m.Notifier.Depart(org)
		m.mu.Lock()
		m.departed[org] = true
		m.mu.Unlock()
	} else if !m.arrive(org) {
		return
	}
	m.setUnsettled(org, false)
}

// setUnsettled adds an organization to those that are being moved, or removes it.
func (m *Mover) setUnsettled(org ledger.ID, isUnsettled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isUnsettled {
		m.unsettled[org] = true
	} else {
		delete(m.unsettled, org)
	}
	m.unsettledCount.Store(int32(len(m.unsettled)))
}

// arrive makes the engine serve an organization. It returns false if the engine ends.
func (m *Mover) arrive(org ledger.ID) bool {
	for {
		err := m.Directory.Arrive(m.ctx, org)
		if err == nil {
			m.Journal.Admit(org)
			m.Payments.PollAgain()
			m.Notifier.Arrive(org)
			return true
		}
		m.Log.Warn("an organization that has arrived can't be read", "organization", org.String(), "error", err)
		select {
		case <-m.ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
}

// Locate tells where an organization is.
func (m *Mover) Locate(org ledger.ID) api.Location {
	if !m.Journal.AnyElsewhere() && !m.IsMoving() {
		return api.Location{Shard: m.Shard}
	}
	m.mu.Lock()
	isUnsettled := m.unsettled[org]
	m.mu.Unlock()
	switch p := m.Journal.Placement(org); {
	case isUnsettled || p.State == store.Leaving:
		return api.Location{Shard: m.Shard, IsMoving: true}
	case p.State == store.Here:
		return api.Location{Shard: m.Shard}
	default:
		return api.Location{Shard: p.Shard}
	}
}

// IsMoving tells whether an organization is being moved and no shard serves it.
func (m *Mover) IsMoving() bool { return m.unsettledCount.Load() > 0 }

// IsReceiving implements api.Mover.
func (m *Mover) IsReceiving() bool { return m.receiver.IsReceiving() }

// maxShown is the number of moves above which Moves shows no more than those under way.
const maxShown = 64

// Start implements api.Mover.
func (m *Mover) Start(org ledger.ID, to int) error {
	const op = "moves.Start"
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.ctx.Err() != nil:
		return ledger.Refuse(op, ledger.Unavailable, "the node no longer leads the shard: nothing was done")
	case !m.Directory.Organization(org):
		return ledger.Refuse(op, ledger.NotFound, "no such organization")
	case to == m.Shard:
		return ledger.Refuse(op, ledger.Conflict, "the organization is in shard %d already", to)
	}
	if under := m.underWay(org); under != nil {
		if under.To == to {
			return nil // a repeated request
		}
		return ledger.Refuse(op, ledger.Conflict, "the organization is being moved already")
	}
	id := move.NewID()
	status := m.newStatus(org, to, id, api.MoveCopying)
	m.statuses = append(m.statuses, status)
	oldestEnded := slices.IndexFunc(m.statuses, func(s *api.MoveStatus) bool { return s.State != api.MoveCopying })
	if len(m.statuses) > maxShown && oldestEnded >= 0 {
		m.statuses = slices.Delete(m.statuses, oldestEnded, oldestEnded+1)
	}
	m.running.Go(func() { m.run(org, id, status) })
	return nil
}

// underWay returns the status of the move of an organization that is under way, or nil. The caller holds m.mu.
func (m *Mover) underWay(org ledger.ID) *api.MoveStatus {
	for _, s := range m.statuses {
		if s.State == api.MoveCopying && s.Organization == org.String() {
			return s
		}
	}
	return nil
}

// run moves an organization.
func (m *Mover) run(org, id ledger.ID, status *api.MoveStatus) {
	update := func(p move.Progress) {
		m.mu.Lock()
		defer m.mu.Unlock()
		status.Rows, status.Bytes = p.Rows, p.Bytes
	}
	isFenced := false
	result, err := move.Run(m.ctx, move.Order{
		ID: id, Journal: m.Journal, Org: org, From: m.Shard, To: status.To, Term: m.Term, Other: destination{m, status.To}, OnProgress: update,
		OnFence: func() {
			m.setUnsettled(org, true)
			isFenced = true
		},
	})
	if isFenced {
		if m.Journal.Placement(org).State == store.Leaving { // the other shard can't be reached
			m.settle(org, status.To)
		} else {
			m.settled(org)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Journal.Placement(org).State == store.Left {
		err = nil
	}
	status.State, status.Rows, status.Bytes, status.PauseMillis = api.MoveEnded, max(status.Rows, result.Rows), max(status.Bytes, result.Bytes), result.Pause.Milliseconds()
	if err != nil {
		text := err.Error()
		status.State, status.Error = api.MoveFailed, &text
		m.Log.Warn("an organization was not moved", "organization", org.String(), "from", m.Shard, "to", status.To, "error", err)
		return
	}
	m.Log.Info("an organization was moved", "organization", org.String(), "from", m.Shard, "to", status.To, "rows", status.Rows, "bytes", status.Bytes, "pause", result.Pause)
}

// Moves implements api.Mover.
func (m *Mover) Moves() []api.MoveStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]api.MoveStatus, 0, len(m.statuses))
	for _, s := range m.statuses {
		list = append(list, *s)
	}
	return list
}

// Names of steps.
const (
	stepBegin   = "begin"
	stepRows    = "rows"
	stepCheck   = "check"
	stepFinish  = "finish"
	stepAbandon = "abandon"
)

// Receive implements api.Mover.
func (m *Mover) Receive(s api.MoveStep) ([]byte, error) {
	const op = "moves.Receive"
	switch s.Name {
	case stepBegin:
		var identity move.Identity
		if err := json.Unmarshal(s.Body, &identity); err != nil {
			return nil, ledger.Refuse(op, ledger.Invalid, "%v", err)
		}
		return nil, m.receiver.Begin(s.Org, identity)
	case stepRows:
		rows, ok := move.ParseRows(s.Body)
		if !ok {
			return nil, ledger.Refuse(op, ledger.Invalid, "the rows can't be read")
		}
		return nil, m.receiver.Rows(s.Org, s.Move, s.Number, rows)
	case stepCheck:
		return nil, m.receiver.Check(s.Org, s.Move, s.Number)
	case stepFinish:
		var head move.Head
		if err := json.Unmarshal(s.Body, &head); err != nil {
			return nil, ledger.Refuse(op, ledger.Invalid, "%v", err)
		}
		return nil, m.finish(&s, head)
	case stepAbandon:
		p, err := m.receiver.Abandon(s.Org, s.Move)
		if err != nil {
			return nil, err
		}
		return json.Marshal(p)
	}
	return nil, ledger.Refuse(op, ledger.Invalid, "there is no step %s", s.Name)
}

// finish takes an organization over. Requests about it wait until the engine knows it.
func (m *Mover) finish(s *api.MoveStep, head move.Head) error {
	org := s.Org
	m.mu.Lock()
	mustRestart, isFinishing := m.departed[org], m.unsettled[org]
	m.mu.Unlock()
	if isFinishing {
		return ledger.Refuse("moves.Receive", ledger.Unavailable, "an earlier call is under way")
	}
	m.setUnsettled(org, true)
	err := m.receiver.Finish(org, s.Move, s.Number, head)
	if err == nil && mustRestart {
		m.Restart() // a new engine has nothing of the time when the organization was here before
		return nil
	}
	if err == nil && !m.arrive(org) {
		return ledger.Refuse("moves.Receive", ledger.Unavailable, "the node no longer leads the shard")
	}
	m.setUnsettled(org, false)
	return err
}

// destination asks the leader of another shard. It implements move.Destination.
type destination struct {
	mover *Mover
	shard int
}

// How long a step may take. Steps that read or write much are slow; after the fence, there are none of them.
const (
	stepTime = 30 * time.Second
	slowTime = 10 * time.Minute
)

func (d destination) ask(ctx context.Context, step api.MoveStep) ([]byte, error) {
	patience := stepTime
	if step.Name == stepBegin || step.Name == stepCheck {
		patience = slowTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	step.Shard = d.shard
	return d.mover.Ask(ctx, step)
}

func (d destination) Begin(ctx context.Context, org ledger.ID, m move.Identity) error {
	body, err := json.Marshal(m)
	if err == nil {
		_, err = d.ask(ctx, api.MoveStep{Name: stepBegin, Org: org, Move: m.Move, Body: body})
	}
	return err
}

func (d destination) Rows(ctx context.Context, org, id ledger.ID, number uint64, rows []posting.MovedRow) error {
	_, err := d.ask(ctx, api.MoveStep{Name: stepRows, Org: org, Move: id, Number: number, Body: move.AppendRows(nil, rows)})
	return err
}

func (d destination) Check(ctx context.Context, org, id ledger.ID, number uint64) error {
	_, err := d.ask(ctx, api.MoveStep{Name: stepCheck, Org: org, Move: id, Number: number})
	return err
}

func (d destination) Finish(ctx context.Context, org, id ledger.ID, number uint64, head move.Head) error {
	body, err := json.Marshal(head)
	if err == nil {
		_, err = d.ask(ctx, api.MoveStep{Name: stepFinish, Org: org, Move: id, Number: number, Body: body})
	}
	return err
}

func (d destination) Abandon(ctx context.Context, org, id ledger.ID) (p posting.Placement, err error) {
	answer, err := d.ask(ctx, api.MoveStep{Name: stepAbandon, Org: org, Move: id})
	if err == nil {
		err = json.Unmarshal(answer, &p)
	}
	return p, err
}
