package posting

import (
	"time"

	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting/store"
)

// preparedGroup is a group (changes that become durable with one sync) on its way to the disk, together with the callers that
// wait for the group's changes. Two such values exist: while the committer writes one of them to the disk, the orderer fills
// the other.
type preparedGroup struct {
	group          *store.Group
	waiters        []waiter
	dues           []dueChange
	notices        []orgNotices
	placements     []organizationPlacement
	earliest       ledger.Micros    // earliest due instant that a change of the group sets; 0 if there is none
	oldestBuffered uint64           // number of the oldest group that still has page-buffer rows
	prepareTime    time.Duration    // how long the orderer took to prepare the group
	causes         []tracing.Origin // see DurableGroup.Causes
}

// maxCauses is the maximum number of causes that are kept for a group.
const maxCauses = 32

type waiter struct {
	done    func(Receipt)
	receipt Receipt
}

func (p *preparedGroup) reset(n uint64, previous [32]byte) {
	p.group.Reset(n, previous)
	clear(p.waiters)
	clear(p.notices)
	p.waiters, p.dues, p.earliest = p.waiters[:0], p.dues[:0], 0
	p.notices, p.causes, p.placements = p.notices[:0], p.causes[:0], p.placements[:0]
}

// runOrderer is the orderer's loop. It puts queued changes into groups, and hands each group to the committer.
func (j *Journal) runOrderer(w *writer) {
	defer j.loops.Done()
	defer close(j.groups)
	var taken, batch []submittedChange
	ok := true
	for {
		if len(batch) == 0 {
			clear(taken)
			if batch, ok = j.take(taken); !ok {
				return
			}
			taken = batch
		}
		select {
		case <-j.failed:
			j.countGrouped(len(batch))
			for _, c := range batch { // after a failure no change becomes durable
				j.keepUnanswered(c.done)
			}
			batch = nil
			continue
		case p := <-j.freeGroups:
			started := time.Now()
			n := w.prepare(p, batch)
			batch = batch[n:]
			j.countGrouped(n)
			p.prepareTime = time.Since(started)
			j.countPrepared(1)
			j.groups <- p
		}
	}
}

// runCommitter is the committer's loop. It makes each group durable, and then acknowledges the group's changes in order.
// After a failure it still receives groups, so that the orderer does not block, but does nothing with them.
func (j *Journal) runCommitter() {
	defer j.loops.Done()
	for p := range j.groups {
		failed := j.hasFailed()
		if !failed {
			if err := j.commitGroup(p); err != nil {
				j.fail(err)
				failed = true
			}
		}
		if failed {
			for i := range p.waiters {
				j.keepUnanswered(p.waiters[i].done)
			}
		}
	}
}

// To confirm a group means to record durably, outside the log segment that contains the group, that it is the last durable
// group. The last group is confirmed if no other group has followed it for confirmAfter. While groups keep following each
// other, the last group is confirmed once every confirmWithin.
const (
	confirmAfter  = 20 * time.Millisecond
	confirmWithin = 100 * time.Millisecond
)

// runConfirmer is a loop that calls Log.Confirm from time to time. Confirm records what the next start needs to detect that
// the last groups are missing from the log. No group waits for Confirm.
func (j *Journal) runConfirmer() {
	defer j.loops.Done()
	for {
		select {
		case <-j.groupApplied:
		case <-j.ended: // the store confirms the last group when it is closed
			return
		}
		if !j.awaitPause() {
			return
		}
		if err := j.log.Confirm(); err != nil {
			j.fail(err)
			return
		}
	}
}

// awaitPause waits until no group has become durable for confirmAfter, but not longer than confirmWithin. If the journal is
// closed, it returns false.
func (j *Journal) awaitPause() bool {
	for waited := time.Duration(0); waited < confirmWithin; waited += confirmAfter {
		select {
		case <-time.After(confirmAfter):
		case <-j.ended:
			return false
		}
		select {
		case <-j.groupApplied:
		default:
			return true
		}
	}
	return true
}

// commitGroup makes a group durable, and then acknowledges the group's changes.
func (j *Journal) commitGroup(p *preparedGroup) error {
	if err := j.apply(p); err != nil {
		return err
	}
	j.countPrepared(-1)
	if p.group.Rows() > 0 { // otherwise all changes were refused, so the group is not stored and the next group gets its number
		j.Due.applyChanges(p.group.N(), p.dues)
	}
	for i := range p.placements {
		j.placements.set(p.placements[i].org, p.placements[i].Placement)
		j.Due.place(p.placements[i].org, j.placements.state(p.placements[i].org))
	}
	for i := range p.notices {
		if j.onNotices != nil {
			j.onNotices(p.notices[i].org, p.notices[i].notices)
		}
	}
	for i := range p.waiters {
		p.waiters[i].done(p.waiters[i].receipt)
	}
	select {
	case j.groupApplied <- struct{}{}:
	default:
	}
	j.freeGroups <- p
	return nil
}

// apply makes the group durable. If the group has no rows, all its changes were refused, and nothing is written. The refusals
// still wait for their turn, because they may be based on earlier groups, which must be durable first.
func (j *Journal) apply(p *preparedGroup) error {
	if p.group.Rows() == 0 {
		return nil
	}
	started := time.Now()
	rows, bytes := p.group.Rows(), p.group.Bytes()
	if err := j.log.Apply(p.group); err != nil {
		return err
	}
	took := time.Since(started)
	j.oldestBuffered.Store(p.oldestBuffered)
	s := &j.Stats
	s.Groups.Add(1)
	s.Changes.Add(uint64(len(p.waiters)))
	s.Rows.Add(uint64(rows))
	s.Bytes.Add(uint64(bytes))
	s.Prepare.Add(int64(p.prepareTime))
	s.Apply.Add(int64(took))
	if s.OnGroup != nil {
		s.OnGroup(DurableGroup{Changes: len(p.waiters), Rows: rows, Bytes: bytes, Apply: took, Causes: p.causes})
	}
	return nil
}
