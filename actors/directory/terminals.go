package directory

import (
	"context"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/posting"
)

// CreateTerminal adds a terminal to a partner of the organization. Errors are *ledger.Refusal.
func (s *Service) CreateTerminal(ctx context.Context, org ledger.ID, d directory.TerminalDraft) (*directory.Terminal, error) {
	const op = "directory.CreateTerminal"
	if _, err := s.writable(op, org); err != nil {
		return nil, err
	}
	d.PrivateHooks = s.privateHooks.Load()
	var created *directory.Terminal
	id := uuid.New()
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		owner, missing := o.owner(op, d.Partner)
		if len(o.terminalsOf(d.Partner)) >= directory.MaxTerminals {
			return nil, nil, ledger.Refuse(op, ledger.Conflict, "the partner has %d terminals", directory.MaxTerminals)
		}
		t, event, err := directory.NewTerminal(id, owner, d)
		if err := directory.Join(missing, err); err != nil {
			return nil, nil, err
		}
		if err := directory.Join(checkStatuses(op, t), s.checkPlain(t)); err != nil {
			return nil, nil, err
		}
		created = t
		record, err := s.sealTerminal(t)
		if err != nil {
			return nil, nil, err
		}
		return &posting.Change{Steps: []posting.Step{step(org, 0, record, event)}}, t, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putTerminal(created, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// PatchTerminal changes a terminal. Errors are *ledger.Refusal, NotFound for a terminal that the
// organization does not have.
func (s *Service) PatchTerminal(ctx context.Context, org, id ledger.ID, p directory.TerminalPatch) (*directory.Terminal, error) {
	const op = "directory.PatchTerminal"
	if _, ok := s.Terminal(org, id); !ok {
		return nil, notFound(op, "terminal")
	}
	p.PrivateHooks = s.privateHooks.Load()
	var next *directory.Terminal
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		place, _ := o.terminals.get(id)
		old := place.now.Load()
		patched, event, err := old.record.Patch(p)
		if next = patched; err != nil || event.Name == "" {
			return nil, nil, err
		}
		if p.MerchantParams != nil {
			if err := checkStatuses(op, next); err != nil {
				return nil, nil, err
			}
		}
		if p.ProviderParams != nil {
			if err := s.checkPlain(next); err != nil {
				return nil, nil, err
			}
		}
		record, err := s.sealTerminal(next)
		if err != nil {
			return nil, nil, err
		}
		return &posting.Change{Steps: []posting.Step{step(org, old.stamp.Version, record, event)}}, next, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putTerminal(next, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// checkStatuses refuses a terminal that notifies of a status that transactions do not have.
func checkStatuses(op string, t *directory.Terminal) error {
	for _, status := range t.Notification.Statuses {
		if _, known := payment.NotifiedNumber(payment.Status(status)); !known {
			return ledger.RefuseField(op, directory.StatusesField, "%s", directory.StatusesRule)
		}
	}
	return nil
}
