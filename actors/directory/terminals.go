package directory

import (
	"bytes"
	"context"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// CreateTerminal adds a terminal with the draft's fields to a partner of the organization. Errors are *ledger.Refusal.
func (s *Service) CreateTerminal(ctx context.Context, org ledger.ID, draft directory.Terminal) (*directory.Terminal, error) {
	const op = "directory.CreateTerminal"
	draft.Org, draft.ID = org, uuid.New()
	return terminals.create(ctx, s, op, org, func(o *organization, _ ledger.Micros) (*directory.Terminal, ledger.Event, []ledger.Claim, error) {
		if len(o.terminalsOf(draft.Partner)) >= directory.MaxTerminals {
			return nil, ledger.Event{}, nil, ledger.Refuse(op, ledger.Conflict, "the partner has %d terminals", directory.MaxTerminals)
		}
		t, event, err := directory.NewTerminal(draft, s.privateAddressesAllowed.Load())
		if err = directory.Join(checkMethods(op, &draft), o.checkOwner(op, draft.Partner), err); err == nil {
			err = directory.Join(checkStatuses(op, t), s.checkTLS(op, t))
		}
		return t, event, nil, err
	})
}

// PatchTerminal changes a terminal. Errors are *ledger.Refusal. If the organization has no such terminal, the code is
// NotFound.
func (s *Service) PatchTerminal(ctx context.Context, org, terminal ledger.ID, change schema.Change[directory.Terminal]) (*directory.Terminal, error) {
	const op = "directory.PatchTerminal"
	return terminals.change(ctx, s, op, org, terminals.at(terminal), func(_ *organization, old *directory.Terminal, _ ledger.Micros) (*directory.Terminal, ledger.Event, error) {
		patched := *old
		change(&patched, new(schema.Faults))
		next, event, err := old.Patch(change, s.privateAddressesAllowed.Load())
		newProvider, newMerchant := !bytes.Equal(patched.ProviderParams, old.ProviderParams), !bytes.Equal(patched.MerchantParams, old.MerchantParams)
		if newProvider {
			err = directory.Join(checkMethods(op, &patched), err)
		}
		if err == nil && newMerchant {
			err = checkStatuses(op, next)
		}
		if err == nil && newProvider {
			err = s.checkTLS(op, next)
		}
		return next, event, err
	})
}

// checkMethods refuses a terminal that lists a money_storage type (payment method) which is not a known type.
func checkMethods(op string, t *directory.Terminal) error {
	for _, method := range directory.Methods(t.ProviderParams) {
		if _, known := payment.Method([]byte(method)); !known {
			return ledger.RefuseField(op, directory.MethodsField, "holds what is not a money_storage type")
		}
	}
	return nil
}

// checkStatuses refuses a terminal whose notifications are to be sent for a status that no transaction can have.
func checkStatuses(op string, t *directory.Terminal) error {
	for _, status := range t.Notification.Statuses {
		if _, known := payment.NotifiedNumber(payment.Status(status)); !known {
			return ledger.RefuseField(op, directory.StatusesField, "%s", directory.StatusesRule)
		}
	}
	return nil
}
