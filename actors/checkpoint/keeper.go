package checkpoint

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/balances"
)

// How long a keeper rests between two looks, in doublings of a second.
const (
	leastRest = 2
	mostRest  = 6
	shareRest = 50 // multiple of the time that the look has taken
)

// maxRemoved bounds the rows that one Change removes.
const maxRemoved = 256

// Keeper makes checkpoints.
type Keeper struct {
	rt   *actors.Runtime
	made atomic.Uint64

	mu    sync.Mutex // held during a look; guards what follows
	group uint64     // the last durable group at the last complete look
	bases map[ledger.ID]base
}

// base is what the next checkpoint of an organization is computed from.
type base struct {
	last balances.Checkpoint // without its parts
	size uint64              // size of the journal when no further checkpoint was due
	full bool                // there are more accounts than a checkpoint has room for, so no further one is made
}

// Start begins to make checkpoints while the runtime runs. It ends with the runtime.
func Start(rt *actors.Runtime) *Keeper {
	k := &Keeper{rt: rt, bases: make(map[ledger.ID]base)}
	k.later(leastRest)
	return k
}

// Made returns how many checkpoints were made since the start.
func (k *Keeper) Made() uint64 { return k.made.Load() }

func (k *Keeper) later(rest int) { k.rt.Later(rest, k.begin) }

// begin runs a look and schedules the next one.
func (k *Keeper) begin() {
	err := k.rt.Go(func() {
		began, rest := time.Now(), mostRest // also after a panic
		defer func() { k.later(rest) }()
		err := k.Look()
		switch {
		case err == nil:
			rest = restAfter(time.Since(began))
		case k.rt.Context().Err() == nil:
			k.rt.Log.Warn("checkpoints of trial balances are made later", "error", err)
		}
	})
	if err != nil { // the pool is full
		k.later(mostRest)
	}
}

// restAfter returns how long to rest after a look, in doublings of a second.
func restAfter(took time.Duration) int {
	rest := leastRest
	for rest < mostRest && time.Second<<rest < shareRest*took {
		rest++
	}
	return rest
}

// Look makes all checkpoints that are due. The error is the store's or a refusal of the journal's;
// the next look then continues.
func (k *Keeper) Look() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	group, _ := k.rt.Journal.LastGroup()
	if group == k.group {
		return nil
	}
	organizations, failed := k.organizations()
	for _, org := range organizations {
		if err := k.rt.Context().Err(); err != nil {
			return err
		}
		if err := k.catchUp(org); err != nil {
			delete(k.bases, org) // the chain is followed again
			failed = errors.Join(failed, err)
		}
	}
	if failed == nil {
		k.group = group
	}
	return failed
}

func (k *Keeper) organizations() (all []ledger.ID, err error) {
	view := k.rt.Journal.View()
	defer view.Close()
	err = view.Organizations(func(org ledger.ID) (bool, error) {
		all = append(all, org)
		return true, nil
	})
	return all, err
}

// catchUp makes the checkpoints of one organization that are due.
func (k *Keeper) catchUp(org ledger.ID) error {
	for {
		again, err := k.one(org)
		if err == nil {
			err = k.rt.Context().Err()
		}
		if err != nil || !again {
			return err
		}
	}
}

// one makes the next checkpoint of an organization, if it is due.
func (k *Keeper) one(org ledger.ID) (made bool, err error) {
	view := k.rt.Journal.View()
	defer view.Close()
	b, known := k.bases[org]
	size, _, err := view.Head(org)
	if err != nil || known && (b.full || size == b.size) {
		return false, err
	}
	if !known {
		if b.last, err = k.follow(view, org, nil); err != nil {
			return false, err
		}
	}
	seq, due, err := balances.NextCheckpoint(view, org, &b.last)
	if err != nil {
		return false, err
	}
	if !due {
		b.size = size
		k.bases[org] = b
		return false, nil
	}
	next := new(balances.Checkpoint)
	from, err := balances.ReadCheckpoint(view, org, &b.last)
	if err == nil {
		next, err = balances.DraftCheckpoint(view, org, &from, seq, func(row posting.KV) error { return k.submit(row) })
	}
	switch {
	case errors.Is(err, balances.ErrNotWhole):
		b.last, err = k.follow(view, org, &b.last)
	case errors.Is(err, balances.ErrManyAccounts):
		k.rt.Log.Warn("no further checkpoints of trial balances are made: there are too many accounts", "organization", org.String())
		b.full, err = true, nil
	case err == nil:
		b.last = *next
		k.made.Add(1)
	}
	b.last.Parts = nil
	k.bases[org] = b
	return err == nil, err
}

// follow walks an organization's chain of checkpoints up to the first that is missing, lacks a part
// or equals wrong, and removes what follows. It returns the last good checkpoint, without its
// parts.
func (k *Keeper) follow(view *posting.View, org ledger.ID, wrong *balances.Checkpoint) (last balances.Checkpoint, err error) {
	err = balances.Checkpoints(view, org, func(c *balances.Checkpoint) (bool, error) {
		if c.Previous != last.Seq || wrong != nil && c.Seq == wrong.Seq {
			return false, nil
		}
		whole, err := balances.HasParts(view, org, c)
		if whole && err == nil {
			last = *c
			last.Parts = nil
		}
		return whole, err
	})
	if err != nil {
		return last, err
	}
	var removals []posting.KV
	err = balances.CheckpointsAfter(view, org, &last, func(removal posting.KV) error {
		removals = append(removals, removal)
		return nil
	})
	if err == nil && len(removals) > 0 {
		k.rt.Log.Info("checkpoints of trial balances are made again", "organization", org.String(), "rows", len(removals))
	}
	for some := range slices.Chunk(removals, maxRemoved) {
		if err == nil {
			err = k.submit(some...)
		}
	}
	return last, err
}

// submit makes rows durable.
func (k *Keeper) submit(rows ...posting.KV) error {
	if err := k.rt.Context().Err(); err != nil {
		return err
	}
	done := make(chan posting.Receipt, 1)
	k.rt.Journal.Submit(&posting.Change{KVs: rows}, func(r posting.Receipt) { done <- r })
	return (<-done).Err
}
