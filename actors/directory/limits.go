package directory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Limits returns a partner's active limits, oldest first. If there are none, it returns nil. The slice is shared and never
// changes: if a limit changes, a new slice replaces the old one. When the method that changes a limit returns, the new
// slice is already in use. Limits does not read the store, because every new transaction calls it.
func (s *Service) Limits(org ledger.ID, partner int64) []*directory.Limit {
	o, ok := s.org(org)
	if !ok {
		return nil
	}
	return o.limitsOf(partner)
}

// Limit finds a limit of the organization, whether or not the limit is active.
func (s *Service) Limit(org, limit ledger.ID) (*directory.Limit, bool) {
	return limits.find(s, org, limit)
}

// ListLimits returns a page of an organization's limits, including inactive limits.
func (s *Service) ListLimits(org ledger.ID, p Page) ([]*directory.Limit, Cursor, error) {
	return limits.list(s, org, p)
}

// CreateLimit adds a limit with the draft's fields for a partner of the organization. Errors are *ledger.Refusal.
func (s *Service) CreateLimit(ctx context.Context, org ledger.ID, draft directory.Limit) (*directory.Limit, error) {
	const op = "directory.CreateLimit"
	draft.Org, draft.ID = org, uuid.New()
	return limits.create(ctx, s, op, org, func(o *organization, _ ledger.Micros) (*directory.Limit, ledger.Event, []ledger.Claim, error) {
		var terminal *directory.Terminal
		if t, ok := o.terminals.get(draft.Terminal); ok {
			terminal = t.record()
		}
		l, event, err := directory.NewLimit(draft, terminal)
		if err = directory.Join(o.checkOwner(op, draft.Partner), err); err == nil {
			err = o.checkLimitCount(op, l)
		}
		return l, event, nil, err
	})
}

// PatchLimit changes a limit. Errors are *ledger.Refusal. If the organization has no such limit, the code is NotFound.
func (s *Service) PatchLimit(ctx context.Context, org, limit ledger.ID, change schema.Change[directory.Limit]) (*directory.Limit, error) {
	const op = "directory.PatchLimit"
	return limits.change(ctx, s, op, org, limits.at(limit), func(o *organization, old *directory.Limit, _ ledger.Micros) (*directory.Limit, ledger.Event, error) {
		next, event, err := old.Patch(change)
		if err == nil && !old.Active {
			err = o.checkLimitCount(op, next)
		}
		return next, event, err
	})
}

// checkLimitCount refuses another active limit if the partner already has directory.MaxLimits active limits.
func (o *organization) checkLimitCount(op string, l *directory.Limit) error {
	if l.Active && len(o.limitsOf(l.Partner)) >= directory.MaxLimits {
		return ledger.Refuse(op, ledger.Conflict, "the partner has %d active limits", directory.MaxLimits)
	}
	return nil
}

func (o *organization) limitsOf(partner int64) []*directory.Limit {
	active, ok := o.activeLimits.Load(partner)
	if !ok {
		return nil
	}
	return active.([]*directory.Limit)
}

// putLimit publishes a durable limit in the view (the records in memory).
func (o *organization) putLimit(l *directory.Limit, header posting.RecordHeader) {
	l.CreatedAt = header.StartedAt
	o.limits.put(l.ID, l, header)
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
		return compareCreation(creation{a.CreatedAt, a.ID}, creation{b.CreatedAt, b.ID})
	})
	o.activeLimits.Store(l.Partner, active)
}
