package checkpoint

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/balances"
)

// Bounds of the wait between two runs of a Maker. minDelay and maxDelay are exponents: n means 2ⁿ seconds.
const (
	minDelay    = 2  // 4 s
	maxDelay    = 6  // 64 s, but ScheduleRetry waits at most 60 s
	delayFactor = 50 // unless maxDelay is shorter, the wait is at least this many times as long as the run
)

// maxRemovals is the maximum number of rows that one Change removes.
const maxRemovals = 256

// Maker makes the checkpoints that are due, in runs on the runtime's pool. A checkpoint contains the amounts that an
// organization's events have added to the totals of the organization's accounts since an earlier checkpoint.
type Maker struct {
	rt        *actors.Runtime
	madeCount atomic.Uint64

	mu        sync.Mutex // held during a run; guards the fields below
	lastGroup uint64     // number of the last durable group of Changes when the last successful run began
	progress  map[ledger.ID]progress
}

// progress says up to where an organization's checkpoints have been made.
type progress struct {
	checkpoint balances.Checkpoint // the last checkpoint, without its field List
	size       uint64              // size of the organization's journal at the last search that found no due checkpoint
}

// Start begins to make checkpoints, and continues until the runtime stops.
func Start(rt *actors.Runtime) *Maker {
	m := &Maker{rt: rt, progress: make(map[ledger.ID]progress)}
	m.schedule(minDelay)
	return m
}

// Made returns how many checkpoints were made since the start.
func (m *Maker) Made() uint64 { return m.madeCount.Load() }

func (m *Maker) schedule(delay int) { m.rt.ScheduleRetry(delay, m.begin) }

// begin runs MakeDue and schedules the next run.
func (m *Maker) begin() {
	err := m.rt.Go(func() {
		started, delay := time.Now(), maxDelay // maxDelay applies after an error or a panic
		defer func() { m.schedule(delay) }()
		err := m.MakeDue()
		switch {
		case err == nil:
			delay = delayAfter(time.Since(started))
		case m.rt.Context().Err() == nil:
			m.rt.Log.Warn("checkpoints of trial balances are made later", "error", err)
		}
	})
	if err != nil { // the pool is full
		m.schedule(maxDelay)
	}
}

// delayAfter returns how long to wait after a run, as an exponent: n means 2ⁿ seconds.
func delayAfter(took time.Duration) int {
	delay := minDelay
	for delay < maxDelay && time.Second<<delay < delayFactor*took {
		delay++
	}
	return delay
}

// MakeDue makes all checkpoints that are due. The error comes from the store, or is a refusal of the journal.
// After an error, the next call makes the checkpoints that are missing.
func (m *Maker) MakeDue() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	group, _ := m.rt.Journal.LastGroup()
	if group == m.lastGroup {
		return nil
	}
	organizations, errs := m.organizations()
	for _, org := range organizations {
		if err := m.rt.Context().Err(); err != nil {
			return err
		}
		if err := m.catchUp(org); err != nil {
			delete(m.progress, org) // so that the next run verifies the organization's checkpoints again
			errs = errors.Join(errs, err)
		}
	}
	if errs == nil {
		m.lastGroup = group
	}
	return errs
}

func (m *Maker) organizations() (all []ledger.ID, err error) {
	view := m.rt.Journal.View()
	defer view.Close()
	err = view.Organizations(func(org ledger.ID) (bool, error) {
		all = append(all, org)
		return true, nil
	})
	return all, err
}

// catchUp makes the due checkpoints of one organization.
func (m *Maker) catchUp(org ledger.ID) error {
	for {
		callAgain, err := m.makeNext(org)
		if err == nil {
			err = m.rt.Context().Err()
		}
		if err != nil || !callAgain {
			return err
		}
	}
}

// makeNext makes the next checkpoint of an organization, if it is due. It returns true if it must be called
// again, because it made a checkpoint or found that the chain of checkpoints is damaged.
func (m *Maker) makeNext(org ledger.ID) (callAgain bool, err error) {
	view := m.rt.Journal.View()
	defer view.Close()
	made, known := m.progress[org]
	size, _, err := view.Head(org)
	if err != nil || known && size == made.size {
		return false, err
	}
	if !known {
		if made.checkpoint, err = m.verifyChain(view, org, 0); err != nil {
			return false, err
		}
	}
	seq, due, err := balances.NextCheckpoint(view, org, &made.checkpoint)
	if err != nil {
		return false, err
	}
	if !due {
		made.size = size
		m.progress[org] = made
		return false, nil
	}
	next, err := balances.BuildCheckpoint(view, org, &made.checkpoint, seq, func(row posting.KV) error { return m.submit(row) })
	if notWhole, ok := errors.AsType[*balances.IncompleteCheckpointError](err); ok {
		made.checkpoint, err = m.verifyChain(view, org, notWhole.Seq)
	} else if err == nil {
		made.checkpoint = *next
		m.madeCount.Add(1)
	}
	made.checkpoint.List = nil
	m.progress[org] = made
	return err == nil, err
}

// verifyChain reads an organization's checkpoints in order, up to the first bad one. A checkpoint is bad if it is missing
// or lacks a row. The checkpoint at the event wrongSeq is also bad; wrongSeq is 0 if the caller knows of no wrong
// checkpoint. verifyChain removes the rows after the last good checkpoint, and returns the last good checkpoint without its
// field List.
func (m *Maker) verifyChain(view *posting.View, org ledger.ID, wrongSeq uint64) (lastGood balances.Checkpoint, err error) {
	err = balances.Checkpoints(view, org, func(c *balances.Checkpoint) (bool, error) {
		if c.Previous != lastGood.Seq || c.Seq == wrongSeq {
			return false, nil
		}
		complete, err := balances.HasRows(view, org, c)
		if complete && err == nil {
			lastGood = *c
			lastGood.List = nil
		}
		return complete, err
	})
	if err != nil {
		return lastGood, err
	}
	var removals []posting.KV // the rows that the next Change removes
	rows := 0
	remove := func() error {
		if len(removals) == 0 {
			return nil
		}
		rows += len(removals)
		err := m.submit(removals...)
		removals = nil
		return err
	}
	err = balances.RemovalsAfter(view, org, &lastGood, func(removal posting.KV) error {
		if removals = append(removals, removal); len(removals) < maxRemovals {
			return nil
		}
		return remove()
	})
	if err == nil {
		err = remove()
	}
	if rows > 0 {
		m.rt.Log.Info("checkpoints of trial balances are made again", "organization", org.String(), "rows", rows)
	}
	return lastGood, err
}

// submit makes rows durable.
func (m *Maker) submit(rows ...posting.KV) error {
	if err := m.rt.Context().Err(); err != nil {
		return err
	}
	return m.rt.Journal.SubmitAndWait(&posting.Change{KVs: rows}).Err
}
