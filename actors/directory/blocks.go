package directory

import (
	"context"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// BlockPage selects a page of a blocklist.
type BlockPage struct {
	Kind  directory.BlockKind // empty: every kind
	Limit int                 // 1 to MaxPage; 0: DefaultPage
	After Cursor              // the last row of the previous page; zero: start from the newest
}

// CreateBlock puts a value on the organization's blocklist; the entry applies from before
// CreateBlock returns. A value that is already listed is a Conflict, and so is an entry beyond the
// maximum. Errors are *ledger.Refusal or the store's.
func (s *Service) CreateBlock(ctx context.Context, org ledger.ID, d directory.BlockDraft) (*directory.Block, error) {
	const op = "directory.CreateBlock"
	if _, err := s.writable(op, org); err != nil {
		return nil, err
	}
	var next *directory.Block
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		b, event, err := directory.NewBlock(org, d)
		if err != nil {
			return nil, nil, err
		}
		if err := o.blocks.roomFor(op, b); err != nil {
			return nil, nil, err
		}
		old, stamp, err := s.storedBlock(org, b.ID)
		if err != nil {
			return nil, nil, err
		}
		if old != nil {
			if b, event = old.Switch(true); event.Name == "" {
				return nil, nil, ledger.Refuse(op, ledger.Internal, "the view lacks an entry that is in force")
			}
		}
		next = b
		next.Updated = 0 // the writer sets it
		return &posting.Change{Steps: []posting.Step{plainStep(directory.Blocks, org, stamp.Version, b, event)}}, b, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putBlock(next, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// roomFor refuses a value that is listed already, and an active entry beyond the organization's
// maximum.
func (l *blocklist) roomFor(op string, b *directory.Block) error {
	prefix, ok := b.Prefix()
	switch {
	case l.lists(b.Kind, b.Value):
		return ledger.Refuse(op, ledger.Conflict, "the value is on the list")
	case l.all.Load() >= directory.MaxBlocks:
		return ledger.Refuse(op, ledger.Conflict, "the list has %d entries", directory.MaxBlocks)
	case ok && !prefix.IsSingleIP() && len(l.ranges()) >= directory.MaxPrefixes:
		return ledger.Refuse(op, ledger.Conflict, "the list has %d prefixes of addresses", directory.MaxPrefixes)
	}
	return nil
}

// DeleteBlock makes an entry inactive; it can be listed again. An inactive entry stays as it is.
// The error is a NotFound for an entry that the organization does not have, another
// *ledger.Refusal, or the store's.
func (s *Service) DeleteBlock(ctx context.Context, org, id ledger.ID) (*directory.Block, error) {
	const op = "directory.DeleteBlock"
	if _, err := s.Block(org, id); err != nil {
		return nil, err
	}
	var next *directory.Block
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, nil, err
		}
		old, stamp, err := s.storedBlock(org, id)
		if err != nil {
			return nil, nil, err
		}
		b, event := old.Switch(false)
		if next = b; event.Name == "" {
			return nil, nil, nil
		}
		next.Updated = 0 // the writer sets it
		return &posting.Change{Steps: []posting.Step{plainStep(directory.Blocks, org, stamp.Version, b, event)}}, b, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putBlock(next, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// Block finds an entry of the organization's blocklist, active or not. The error is a NotFound, or
// the store's.
func (s *Service) Block(org, id ledger.ID) (*directory.Block, error) {
	const op = "directory.Block"
	if _, ok := s.org(org); !ok {
		return nil, notFound(op, "organization")
	}
	b, _, err := s.storedBlock(org, id)
	if err == nil && b == nil {
		err = notFound(op, "entry")
	}
	return b, err
}

// ListBlocks returns a page of the active entries of an organization's blocklist, ordered by when
// each value was first listed.
func (s *Service) ListBlocks(org ledger.ID, p BlockPage) (rows []*directory.Block, next Cursor, err error) {
	const op = "directory.ListBlocks"
	o, ok := s.org(org)
	if !ok {
		return nil, Cursor{}, notFound(op, "organization")
	}
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField(op, "limit", "must be from 1 to %d", MaxPage)
	}
	found, more := o.blocks.before(p.After, p.Kind, p.Limit)
	v := s.rt.Journal.View()
	defer v.Close()
	for _, place := range found {
		b, _, err := blockIn(v, org, place.id)
		if err != nil {
			return nil, Cursor{}, err
		}
		if b != nil && b.Active { // the entry may have been deleted since
			rows = append(rows, b)
		}
	}
	if more {
		last := found[len(found)-1]
		next = Cursor{At: last.at, ID: last.id}
	}
	return rows, next, nil
}

// storedBlock reads an entry from the store; nil if it does not exist.
func (s *Service) storedBlock(org, id ledger.ID) (*directory.Block, posting.Stamp, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	return blockIn(v, org, id)
}

func blockIn(v *posting.View, org, id ledger.ID) (*directory.Block, posting.Stamp, error) {
	r, found, err := v.Record(org, ledger.Source{Kind: ledger.Block, ID: id})
	if err != nil || !found {
		return nil, posting.Stamp{}, err
	}
	b, err := directory.Blocks.Read(envelopeOf(org, id, r.Stamp), r.Payload, nil)
	if err != nil {
		return nil, posting.Stamp{}, unreadable(ledger.Block, id, err)
	}
	return b, r.Stamp, nil
}

// putBlock publishes a durable entry, as the functions of view.go do.
func (o *org) putBlock(b *directory.Block, stamp posting.Stamp) {
	b.Created, b.Updated = stamp.Started, stamp.Updated
	o.blocks.publish(b)
}

// loadBlocks reads the blocklist. While it reads up to a million entries it holds only what the
// view keeps of them.
func (o *org) loadBlocks(v *posting.View) error {
	var order []*listing
	err := v.Records(o.id, ledger.Block, func(id ledger.ID, r posting.Record) (bool, error) {
		b, err := directory.Blocks.Read(envelopeOf(o.id, id, r.Stamp), r.Payload, nil)
		if err != nil {
			return false, unreadable(ledger.Block, id, err)
		}
		if b.Active {
			order = append(order, &listing{slot: slot{r.Stamp.Started, id}, blockValue: blockValue{b.Kind, b.Value}})
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	// In the order of creation, each entry is appended at the end.
	slices.SortFunc(order, func(a, b *listing) int { return compareSlots(a.slot, b.slot) })
	for _, p := range order {
		o.blocks.publish(&directory.Block{ID: p.id, Kind: p.kind, Value: p.value, Active: true, Created: p.at})
	}
	return nil
}
