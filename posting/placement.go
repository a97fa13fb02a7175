package posting

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"mizan/ledger"
	"mizan/posting/store"
)

// In a cluster, an organization can be moved from one shard to another. A placement says where an organization is, seen from one
// store. While an organization is leaving, has left or is arriving, it is elsewhere: the writer refuses all its changes, and
// nothing becomes due.

// Placement is an organization's placement in a store.
type Placement = store.Placement

// MoveOrder tells which of two moves is later.
type MoveOrder = store.MoveOrder

// ErrElsewhere refuses a Change of an organization that belongs to another shard or is being moved. Nothing was written. It wraps
// ErrStopped, because for this organization the journal has ended.
var ErrElsewhere = fmt.Errorf("the organization belongs to another shard, or is being moved: %w", ErrStopped)

// placements contains the placements of organizations that have moved or were to move. Readers take no lock.
type placements struct {
	current atomic.Pointer[map[ledger.ID]livePlacement] // nil: there are none
	mu      sync.Mutex                                  // held while current is replaced
}

// livePlacement is a durable placement, as the running process sees it.
type livePlacement struct {
	Placement
	// isHeld says that the organization has become one of this store since the journal was opened, and that it is not admitted yet.
	isHeld bool

	admittedAt time.Time // see SinceAdmission; zero: this process has not admitted it
}

// state returns the state that the process must act upon.
func (p livePlacement) state() store.PlacementState {
	if p.State == store.Here && p.isHeld {
		return store.Arriving
	}
	return p.State
}

func readPlacements(snap *store.Snapshot) (map[ledger.ID]Placement, error) {
	found := make(map[ledger.ID]Placement)
	return found, snap.Ascend(store.KeyPlacements(nil), nil, func(key, row []byte) (bool, error) {
		org, ok := store.ParsePlacementKey(key)
		placement, decoded := store.DecodePlacement(row)
		if !ok || !decoded {
			return false, damaged("placement with key %x: unknown form", key)
		}
		found[org] = placement
		return true, nil
	})
}

// load reads the placements from the store.
func (p *placements) load(snap *store.Snapshot) error {
	found, err := readPlacements(snap)
	if err == nil && len(found) > 0 {
		all := make(map[ledger.ID]livePlacement, len(found))
		for org, placement := range found {
			all[org] = livePlacement{Placement: placement}
		}
		p.current.Store(&all)
	}
	return err
}

// of returns an organization's placement. The zero value means that the organization belongs to this store. If isKnown is false,
// the organization was never moved.
func (p *placements) of(org ledger.ID) (placement livePlacement, isKnown bool) {
	if all := p.current.Load(); all != nil {
		placement, isKnown = (*all)[org]
	}
	return placement, isKnown
}

// state returns the state of an organization that the process must act upon.
func (p *placements) state(org ledger.ID) store.PlacementState {
	placement, _ := p.of(org)
	return placement.state()
}

// change replaces an organization's placement.
func (p *placements) change(org ledger.ID, next func(livePlacement) livePlacement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[ledger.ID]livePlacement)
	if old := p.current.Load(); old != nil {
		maps.Copy(all, *old)
	}
	all[org] = next(all[org])
	p.current.Store(&all)
}

// set records a placement that has become durable. An organization that becomes one of this store is held until it is admitted.
func (p *placements) set(org ledger.ID, placement Placement) {
	p.change(org, func(livePlacement) livePlacement {
		return livePlacement{Placement: placement, isHeld: placement.State == store.Here}
	})
}

// Admit lets an organization that has become one of this store be used: its changes are accepted, and what is due becomes due. The
// caller calls it when everything that works on the store knows the organization. After the journal was opened again, it is not
// necessary.
func (j *Journal) Admit(org ledger.ID) {
	j.placements.change(org, func(p livePlacement) livePlacement {
		return livePlacement{Placement: p.Placement, admittedAt: time.Now()}
	})
	j.Due.place(org, j.placements.state(org))
}

// SinceAdmission returns the time since this process has admitted an organization that was moved to this store; a very long time if
// it has not.
func (j *Journal) SinceAdmission(org ledger.ID) time.Duration {
	p, _ := j.placements.of(org)
	return time.Since(p.admittedAt)
}

// Placement returns an organization's durable placement. The zero value means that the organization belongs to this store.
func (j *Journal) Placement(org ledger.ID) Placement {
	p, _ := j.placements.of(org)
	return p.Placement
}

// IsElsewhere tells whether an organization does not belong to this store, or is being moved, or is not admitted yet.
func (j *Journal) IsElsewhere(org ledger.ID) bool { return j.placements.state(org) != store.Here }

// AnyElsewhere tells whether an organization that has rows in this store may be elsewhere.
func (j *Journal) AnyElsewhere() bool { return j.placements.current.Load() != nil }

// Placements returns the placements of all organizations that have moved or were to move.
func (j *Journal) Placements() map[ledger.ID]Placement {
	found := make(map[ledger.ID]Placement)
	if all := j.placements.current.Load(); all != nil {
		for org, p := range *all {
			found[org] = p.Placement
		}
	}
	return found
}

// hides tells whether the view leaves an organization out, because it is elsewhere, or was when the view was opened.
func (v *View) hides(org ledger.ID) (bool, error) {
	if v.placements == nil {
		return false, nil
	}
	live, isKnown := v.placements.of(org)
	if !isKnown {
		return false, nil
	}
	if live.state() != store.Here {
		return true, nil
	}
	row, found, err := v.snap.Get(store.KeyPlacement(nil, org), nil)
	if err != nil || !found {
		return false, err
	}
	p, ok := store.DecodePlacement(row)
	if !ok {
		return false, damaged("placement of organization %v: unknown form", org)
	}
	return p.State != store.Here, nil
}

// Placements returns the stored placements of all organizations that have moved or were to move.
func (v *View) Placements() (map[ledger.ID]Placement, error) { return readPlacements(v.snap) }
