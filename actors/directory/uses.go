package directory

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// The time of a new use of a key or session is stored only if the stored time of the last use is at least this old.
const (
	storeKeyUseEvery     = ledger.Micros(3600 * 1_000_000)
	storeSessionUseEvery = ledger.Micros(300 * 1_000_000)
)

// maxPendingUses is the maximum number of last uses, in all organizations together, that wait to be stored or are being
// stored. If this number is reached, a use is not stored; the next use of the same key or session tries again.
const maxPendingUses = 64

// pendingUses queues the last uses of keys and sessions, which the organizations' actors write in the background. A
// request only compares a few atomics. If a write is due and there is room, the request queues the write here. Each
// organization has at most one Change of last uses in progress.
type pendingUses struct {
	reserved atomic.Int64 // number of uses that wait or are being written, at most maxPendingUses

	mu      sync.Mutex
	queued  map[ledger.ID][]pendingUse // guarded by mu: the waiting uses of each organization
	writing map[ledger.ID]bool         // guarded by mu: organizations whose actor has a message to write last uses
}

// pendingUse is the last use of a key or session, which is to be written. The organization's actor calls step, which
// returns the step to write. If there is nothing to write any more, step returns false.
type pendingUse struct {
	writeInProgress *atomic.Bool
	step            func(*organization) (publishableStep, bool)
}

// publishableStep is a step of a Change and the function that publishes it.
type publishableStep struct {
	step posting.Step
	put  func(posting.RecordHeader)
}

// useWrite is a command that writes last uses; no caller waits for it. It is an actors.OutcomeWaiter, so it does not
// count towards the maximum number of waiting commands.
type useWrite struct{ *command }

// OnlyWaits implements actors.OutcomeWaiter.
func (*useWrite) OnlyWaits() {}

func newPendingUses() *pendingUses {
	return &pendingUses{queued: make(map[ledger.ID][]pendingUse), writing: make(map[ledger.ID]bool)}
}

// begin reserves a place for a write and sets the flag inProgress. If the flag is already set, or if all places are
// taken, begin returns false.
func (p *pendingUses) begin(inProgress *atomic.Bool) bool {
	if inProgress.Load() || p.reserved.Load() >= maxPendingUses || !inProgress.CompareAndSwap(false, true) {
		return false
	}
	if p.reserved.Add(1) > maxPendingUses {
		p.reserved.Add(-1)
		inProgress.Store(false)
		return false
	}
	return true
}

// recordKeyUse starts to write the use of a key if the stored last use is old.
func (s *Service) recordKeyUse(keyInView *viewRecord[directory.APIKey], k *directory.APIKey, now ledger.Micros) {
	if k.LastUsedAt != 0 && now-k.LastUsedAt < storeKeyUseEvery || !s.pendingUses.begin(&keyInView.savingUse) {
		return
	}
	s.queueUse(k.Org, pendingKeyUse(keyInView, k.ID))
}

func pendingKeyUse(keyInView *viewRecord[directory.APIKey], id ledger.ID) pendingUse {
	return pendingUse{&keyInView.savingUse, func(o *organization) (publishableStep, bool) {
		current, ok := o.keys.get(id)
		if !ok {
			return publishableStep{}, false
		}
		old := current.current.Load()
		next, event := old.record.RecordUse(ledger.Micros(keyInView.lastUsedAt.Load()))
		if event.Name == "" {
			return publishableStep{}, false
		}
		return publishableStep{stepWithoutSecrets(directory.APIKeys, o.id, old.header.Version, next, event), func(header posting.RecordHeader) { o.putKey(next, header) }}, true
	}}
}

// recordSessionUse starts to write the use of a session if the stored last use is old. If a session never expires by
// inactivity, its uses need not be written.
func (s *Service) recordSessionUse(sessionInView *viewRecord[directory.Session], session *directory.Session, now ledger.Micros) {
	if session.MaxIdle == 0 || now-session.LastUsedAt < storeSessionUseEvery || !s.pendingUses.begin(&sessionInView.savingUse) {
		return
	}
	s.queueUse(session.Org, pendingSessionUse(sessionInView, session.Hash))
}

func pendingSessionUse(sessionInView *viewRecord[directory.Session], hash [32]byte) pendingUse {
	return pendingUse{&sessionInView.savingUse, func(o *organization) (publishableStep, bool) {
		current, ok := o.session(hash)
		if !ok {
			return publishableStep{}, false
		}
		old := current.current.Load()
		next, event := old.record.RecordUse(ledger.Micros(sessionInView.lastUsedAt.Load()))
		if event.Name == "" {
			return publishableStep{}, false
		}
		return publishableStep{stepWithoutSecrets(directory.Sessions, o.id, old.header.Version, next, event), func(header posting.RecordHeader) { o.putSession(next, header) }}, true
	}}
}

// queueUse queues a write for the organization's actor. Unless the actor already has a message to write last uses,
// queueUse sends it one.
func (s *Service) queueUse(org ledger.ID, u pendingUse) {
	pending := s.pendingUses
	pending.mu.Lock()
	pending.queued[org] = append(pending.queued[org], u)
	mustTell := !pending.writing[org]
	pending.writing[org] = true
	pending.mu.Unlock()
	if mustTell {
		s.sendUses(org)
	}
}

// sendUses makes the organization's actor write all uses that are queued when the actor receives the message.
func (s *Service) sendUses(org ledger.ID) {
	var batch []pendingUse
	var publishers usePublishers
	var once sync.Once
	s.registry.Tell(org, &useWrite{&command{
		op: "directory.sendUses",
		decide: func(ledger.Micros) (*posting.Change, error) {
			batch = s.pendingUses.take(org)
			o, ok := s.org(org)
			if !ok {
				return nil, notFound("directory.sendUses", "organization")
			}
			var change *posting.Change
			change, publishers = changeOf(o, batch)
			return change, nil
		},
		publish: func(headers []posting.RecordHeader) { publishers.publish(headers) },
		done:    func(error) { once.Do(func() { s.finishBatch(org, batch) }) },
	}})
}

// usePublishers publishes the steps of a Change of last uses, in their order.
type usePublishers []func(posting.RecordHeader)

func (p usePublishers) publish(headers []posting.RecordHeader) {
	for i, put := range p {
		put(headers[i])
	}
}

// changeOf makes one Change that writes all given uses. If there is nothing to write any more, it returns nil.
func changeOf(o *organization, uses []pendingUse) (*posting.Change, usePublishers) {
	change := &posting.Change{Author: ledger.BySystem.Author()}
	var publishers usePublishers
	for i := range uses {
		if w, due := uses[i].step(o); due {
			change.Steps, publishers = append(change.Steps, w.step), append(publishers, w.put)
		}
	}
	if len(change.Steps) == 0 {
		return nil, nil
	}
	return change, publishers
}

// take removes the queued uses of the organization and returns them.
func (p *pendingUses) take(org ledger.ID) []pendingUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	batch := p.queued[org]
	delete(p.queued, org)
	return batch
}

// finishBatch frees the places of a batch of uses, whether the uses were written or refused. Then it sends the uses
// that were queued in the meantime. If a write was refused, the next use of the same key or session tries again. If the
// actor refused the message before it took the batch, the queued uses are dropped; if they were sent again at once,
// this could go on forever.
func (s *Service) finishBatch(org ledger.ID, batch []pendingUse) {
	pending := s.pendingUses
	if len(batch) == 0 {
		batch = pending.take(org)
	}
	pending.reserved.Add(-int64(len(batch)))
	for i := range batch {
		batch[i].writeInProgress.Store(false)
	}
	pending.mu.Lock()
	hasQueued := len(pending.queued[org]) > 0
	if !hasQueued {
		delete(pending.writing, org)
	}
	pending.mu.Unlock()
	if hasQueued {
		s.sendUses(org)
	}
}

// maxUsesPerChange is the maximum number of uses that FlushUses writes in one Change.
const maxUsesPerChange = 512

// FlushUses stores the last uses of keys and sessions that are in memory only, so that a clean stop does not lose them.
// It must be called after requests have ended. If there are no new uses, it writes nothing. If ctx ends first, uses
// that are not stored yet are lost, like after a crash. If one organization's uses are refused, the other
// organizations' uses are still written. The error is the first *ledger.Refusal.
func (s *Service) FlushUses(ctx context.Context) (firstErr error) {
	for _, creation := range s.inCreationOrder() {
		if o, ok := s.org(creation.id); ok {
			if err := s.flushUsesOf(ctx, o); err != nil && firstErr == nil {
				firstErr = err
			}
		}
	}
	return firstErr
}

func (s *Service) flushUsesOf(ctx context.Context, o *organization) error {
	const op = "directory.FlushUses"
	for uses := range slices.Chunk(o.unrecordedUses(ledger.MicrosOf(s.rt.Clock.Now())), maxUsesPerChange) {
		var publishers usePublishers
		err := s.run(ctx, o.id, op, func(ledger.Micros) (change *posting.Change, err error) {
			current, ok := s.org(o.id)
			if !ok {
				return nil, notFound(op, "organization")
			}
			change, publishers = changeOf(current, uses)
			return change, nil
		}, func(headers []posting.RecordHeader) { publishers.publish(headers) })
		if err != nil {
			return err
		}
	}
	return nil
}

// unrecordedUses returns the last uses that are later than the stored last uses. It leaves out sessions that are over,
// and sessions that never expire by inactivity, because their uses need not be written.
func (o *organization) unrecordedUses(now ledger.Micros) (uses []pendingUse) {
	for _, creation := range o.keys.inCreationOrder() {
		if inView, ok := o.keys.get(creation.id); ok && ledger.Micros(inView.lastUsedAt.Load()) > inView.record().LastUsedAt {
			uses = append(uses, pendingKeyUse(inView, creation.id))
		}
	}
	o.sessionHashes.Range(func(_, value any) bool {
		inView := value.(*viewRecord[directory.Session])
		if n := inView.record(); n.MaxIdle != 0 && ledger.Micros(inView.lastUsedAt.Load()) > n.LastUsedAt && !o.sessionOver(inView, now) {
			uses = append(uses, pendingSessionUse(inView, n.Hash))
		}
		return true
	})
	return uses
}
