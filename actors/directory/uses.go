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

// How old the stored last use must be before a new use is noted.
const (
	noteKeysEvery     = ledger.Micros(3600 * 1_000_000)
	noteSessionsEvery = ledger.Micros(300 * 1_000_000)
)

// maxNotes bounds the notes that wait or are being made durable, in all organizations together. A
// use beyond it is not noted; the next use tries again.
const maxNotes = 64

// pendingUses writes last uses of keys and sessions in the background: a request compares a few atomics
// and, if a note is due and there is room, leaves a note here. Each organization has at most one
// Change of notes in progress.
type pendingUses struct {
	reserved atomic.Int64 // places taken, at most maxNotes

	mu      sync.Mutex
	queued  map[ledger.ID][]use // guarded by mu: by organization
	writing map[ledger.ID]bool  // guarded by mu: the organization's actor has a message to write notes
}

// use is a note that is to be written. The organization's actor calls step, which returns the step to write;
// false if nothing is left to write.
type use struct {
	noteInProgress *atomic.Bool
	step           func(*organization) (publishableStep, bool)
}

// publishableStep is a step of a Change and the function that publishes it.
type publishableStep struct {
	step posting.Step
	put  func(posting.Stamp)
}

// note is a command without a waiting caller. As an actors.Observer it does not count against the bound
// of waiting commands.
type note struct{ *command }

// Observes implements actors.Observer.
func (*note) Observes() {}

func newPendingUses() *pendingUses {
	return &pendingUses{queued: make(map[ledger.ID][]use), writing: make(map[ledger.ID]bool)}
}

// begin reserves a place for a note and sets the flag noting. It returns false if the flag is already set or
// all places are taken.
func (n *pendingUses) begin(noting *atomic.Bool) bool {
	if noting.Load() || n.reserved.Load() >= maxNotes || !noting.CompareAndSwap(false, true) {
		return false
	}
	if n.reserved.Add(1) > maxNotes {
		n.reserved.Add(-1)
		noting.Store(false)
		return false
	}
	return true
}

// recordKeyUse starts a note of a key's use if the stored last use is old.
func (s *Service) recordKeyUse(place *viewRecord[directory.APIKey], k *directory.APIKey, now ledger.Micros) {
	if k.Used != 0 && now-k.Used < noteKeysEvery || !s.notes.begin(&place.savingUse) {
		return
	}
	s.queueUse(k.Org, keyUse(place, k.ID))
}

func keyUse(place *viewRecord[directory.APIKey], id ledger.ID) use {
	return use{&place.savingUse, func(o *organization) (publishableStep, bool) {
		current, ok := o.keys.get(id)
		if !ok {
			return publishableStep{}, false
		}
		old := current.now.Load()
		next, event := old.record.RecordUse(ledger.Micros(place.used.Load()))
		if event.Name == "" {
			return publishableStep{}, false
		}
		return publishableStep{plainStep(directory.APIKeys, o.id, old.stamp.Version, next, event), func(stamp posting.Stamp) { o.putKey(next, stamp) }}, true
	}}
}

// recordSessionUse starts a note of a session's use if the stored last use is old. Sessions that never expire
// by inactivity need no note.
func (s *Service) recordSessionUse(place *viewRecord[directory.Session], n *directory.Session, now ledger.Micros) {
	if n.Idle == 0 || now-n.Used < noteSessionsEvery || !s.notes.begin(&place.savingUse) {
		return
	}
	s.queueUse(n.Org, sessionUse(place, n.Hash))
}

func sessionUse(place *viewRecord[directory.Session], hash [32]byte) use {
	return use{&place.savingUse, func(o *organization) (publishableStep, bool) {
		current, ok := o.session(hash)
		if !ok {
			return publishableStep{}, false
		}
		old := current.now.Load()
		next, event := old.record.RecordUse(ledger.Micros(place.used.Load()))
		if event.Name == "" {
			return publishableStep{}, false
		}
		return publishableStep{plainStep(directory.Sessions, o.id, old.stamp.Version, next, event), func(stamp posting.Stamp) { o.putSession(next, stamp) }}, true
	}}
}

// queueUse queues a note for the organization's actor, and sends the actor a message unless it is
// already writing notes.
func (s *Service) queueUse(org ledger.ID, u use) {
	n := s.notes
	n.mu.Lock()
	n.queued[org] = append(n.queued[org], u)
	tell := !n.writing[org]
	n.writing[org] = true
	n.mu.Unlock()
	if tell {
		s.sendUses(org)
	}
}

// sendUses makes the organization's actor write all notes that are queued when it runs.
func (s *Service) sendUses(org ledger.ID) {
	var batch []use
	var puts usePublishers
	var once sync.Once
	s.registry.Tell(org, &note{&command{
		op: "directory.note",
		decide: func(ledger.Micros) (*posting.Change, error) {
			batch = s.notes.take(org)
			o, ok := s.org(org)
			if !ok {
				return nil, notFound("directory.note", "organization")
			}
			var change *posting.Change
			change, puts = changeOf(o, batch)
			return change, nil
		},
		publish: func(stamps []posting.Stamp) { puts.publish(stamps) },
		done:    func(error) { once.Do(func() { s.requeue(org, batch) }) },
	}})
}

// usePublishers publishes the steps of a Change of notes, in their order.
type usePublishers []func(posting.Stamp)

func (p usePublishers) publish(stamps []posting.Stamp) {
	for i, put := range p {
		put(stamps[i])
	}
}

// changeOf makes one Change of the notes; nil if nothing is left to write.
func changeOf(o *organization, uses []use) (*posting.Change, usePublishers) {
	change := new(posting.Change)
	var puts usePublishers
	for i := range uses {
		if w, due := uses[i].step(o); due {
			change.Steps, puts = append(change.Steps, w.step), append(puts, w.put)
		}
	}
	if len(change.Steps) == 0 {
		return nil, nil
	}
	return change, puts
}

// take empties the organization's queue.
func (n *pendingUses) take(org ledger.ID) []use {
	n.mu.Lock()
	defer n.mu.Unlock()
	batch := n.queued[org]
	delete(n.queued, org)
	return batch
}

// requeue frees the places of notes, whether they were written or refused, and starts the notes that
// were queued meanwhile. A refused note is tried again at the next use of its key or session. So is a
// queued note that the actor could not take; if it were sent again at once, the actor would get
// messages forever.
func (s *Service) requeue(org ledger.ID, batch []use) {
	n := s.notes
	if len(batch) == 0 {
		batch = n.take(org)
	}
	n.reserved.Add(-int64(len(batch)))
	for i := range batch {
		batch[i].noteInProgress.Store(false)
	}
	n.mu.Lock()
	hasQueued := len(n.queued[org]) > 0
	if !hasQueued {
		delete(n.writing, org)
	}
	n.mu.Unlock()
	if hasQueued {
		s.sendUses(org)
	}
}

// notesAtOnce bounds the uses that one Change of FlushUses records.
const notesAtOnce = 512

// FlushUses stores every last use of a key or session that is in memory only, so that a clean stop
// loses none. The caller calls it after requests have ended. Without new uses it writes nothing.
// If ctx ends first, the remaining uses are lost, as in a kill: the next start knows the uses that were stored
// last. If one organization's notes are refused, the other organizations' notes are still written.
// The error is the first *ledger.Refusal.
func (s *Service) FlushUses(ctx context.Context) (first error) {
	for _, creation := range s.organizations.inCreationOrder() {
		if o, ok := s.org(creation.id); ok {
			if err := s.flushUsesOf(ctx, o); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

func (s *Service) flushUsesOf(ctx context.Context, o *organization) error {
	const op = "directory.NoteUses"
	for uses := range slices.Chunk(o.unrecordedUses(ledger.MicrosOf(s.rt.Clock.Now())), notesAtOnce) {
		var puts usePublishers
		err := s.run(ctx, o.id, op, func(ledger.Micros) (change *posting.Change, err error) {
			current, ok := s.org(o.id)
			if !ok {
				return nil, notFound(op, "organization")
			}
			change, puts = changeOf(current, uses)
			return change, nil
		}, func(stamps []posting.Stamp) { puts.publish(stamps) })
		if err != nil {
			return err
		}
	}
	return nil
}

// unrecordedUses returns the uses that are later than the stored ones. Sessions that are over, or that
// never expire by inactivity, need no note.
func (o *organization) unrecordedUses(now ledger.Micros) (uses []use) {
	for _, creation := range o.keys.inCreationOrder() {
		if place, ok := o.keys.get(creation.id); ok && ledger.Micros(place.used.Load()) > place.record().Used {
			uses = append(uses, keyUse(place, creation.id))
		}
	}
	o.sessionHashes.Range(func(_, found any) bool {
		place := found.(*viewRecord[directory.Session])
		if n := place.record(); n.Idle != 0 && ledger.Micros(place.used.Load()) > n.Used && !o.sessionOver(place, now) {
			uses = append(uses, sessionUse(place, n.Hash))
		}
		return true
	})
	return uses
}
