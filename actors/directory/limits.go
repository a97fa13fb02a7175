package directory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// Limits returns a partner's active limits, oldest first; nil if there are none. The slice is
// shared and never changes: a change replaces it. Limits sees every answered change and reads no
// store, because each create calls it.
func (s *Service) Limits(id ledger.ID, partner int64) []*directory.Limit {
	o, ok := s.org(id)
	if !ok {
		return nil
	}
	return o.limitsOf(partner)
}

// Limit finds a limit of the organization, active or not.
func (s *Service) Limit(id, limit ledger.ID) (*directory.Limit, bool) {
	if o, ok := s.org(id); ok {
		if l, ok := o.limits.get(limit); ok {
			return l.record(), true
		}
	}
	return nil, false
}

// ListLimits returns a page of an organization's limits, inactive ones included.
func (s *Service) ListLimits(org ledger.ID, p Page) ([]*directory.Limit, Cursor, error) {
	o, ok := s.org(org)
	if !ok {
		return nil, Cursor{}, notFound("directory.ListLimits", "organization")
	}
	return page(&o.limits, p, func(c *recordSlot[directory.Limit]) (*directory.Limit, bool) {
		r := c.record()
		return r, p.Partner == 0 || r.Partner == p.Partner
	})
}

// CreateLimit adds a limit for a partner of the organization. Errors are *ledger.Refusal.
func (s *Service) CreateLimit(ctx context.Context, org ledger.ID, d directory.LimitDraft) (*directory.Limit, error) {
	const op = "directory.CreateLimit"
	if _, err := s.writable(op, org); err != nil {
		return nil, err
	}
	var created *directory.Limit
	id := uuid.New()
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		owner, missing := o.owner(op, d.Partner)
		l, event, err := directory.NewLimit(id, owner, o.terminalNamed(d.Terminal), d)
		if err := directory.Join(missing, err); err != nil {
			return nil, nil, err
		}
		if err := o.roomFor(op, l); err != nil {
			return nil, nil, err
		}
		created = l
		return &posting.Change{Steps: []posting.Step{step(org, 0, encodeLimit(l), event)}}, l, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putLimit(created, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// PatchLimit changes a limit. Errors are *ledger.Refusal, NotFound for a limit that the
// organization does not have.
func (s *Service) PatchLimit(ctx context.Context, org, id ledger.ID, p directory.LimitPatch) (*directory.Limit, error) {
	const op = "directory.PatchLimit"
	if _, ok := s.Limit(org, id); !ok {
		return nil, notFound(op, "limit")
	}
	var next *directory.Limit
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		place, _ := o.limits.get(id)
		old := place.now.Load()
		patched, event, err := old.record.Patch(p)
		if next = patched; err != nil || event.Name == "" {
			return nil, nil, err
		}
		if !old.record.Active {
			if err := o.roomFor(op, next); err != nil {
				return nil, nil, err
			}
		}
		return &posting.Change{Steps: []posting.Step{step(org, old.stamp.Version, encodeLimit(next), event)}}, next, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putLimit(next, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// roomFor refuses an active limit beyond directory.MaxLimits per partner.
func (o *org) roomFor(op string, l *directory.Limit) error {
	if l.Active && len(o.limitsOf(l.Partner)) >= directory.MaxLimits {
		return ledger.Refuse(op, ledger.Conflict, "the partner has %d active limits", directory.MaxLimits)
	}
	return nil
}

// terminalNamed finds the terminal; nil if id is nil or the terminal does not exist.
func (o *org) terminalNamed(id *ledger.ID) *directory.Terminal {
	if id == nil {
		return nil
	}
	if t, ok := o.terminals.get(*id); ok {
		return t.record()
	}
	return nil
}

func (o *org) limitsOf(partner int64) []*directory.Limit {
	limits, ok := o.bounds.Load(partner)
	if !ok {
		return nil
	}
	return limits.([]*directory.Limit)
}

// putLimit publishes a durable limit, as the functions of view.go do.
func (o *org) putLimit(l *directory.Limit, stamp posting.Stamp) {
	l.Created = stamp.Started
	o.limits.put(l.ID, l, stamp)
	var active []*directory.Limit
	for _, old := range o.limitsOf(l.Partner) {
		if old.ID != l.ID {
			active = append(active, old)
		}
	}
	if l.Active {
		active = append(active, l)
	}
	slices.SortFunc(active, func(a, b *directory.Limit) int {
		return compareSlots(slot{a.Created, a.ID}, slot{b.Created, b.ID})
	})
	o.bounds.Store(l.Partner, active)
}
