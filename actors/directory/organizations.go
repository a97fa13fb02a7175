package directory

import (
	"context"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// CreateOrganization adds an organization with the draft's fields. Errors are *ledger.Refusal.
func (s *Service) CreateOrganization(ctx context.Context, draft directory.Organization) (*directory.Organization, error) {
	var created *directory.Organization
	draft.ID = s.placement.NewOrganization()
	err := s.write(ctx, directory.PlatformOrg, "directory.CreateOrganization", func(ledger.Micros) (*posting.Change, any, error) {
		o, event, err := directory.NewOrganization(draft)
		if err != nil {
			return nil, nil, err
		}
		created = o
		return &posting.Change{Steps: []posting.Step{stepWithoutSecrets(directory.Organizations, o.ID, 0, o, event)}}, o, nil
	}, func(headers []posting.RecordHeader) {
		s.putOrganization(newOrg(created.ID, &s.global), created, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// PatchOrganization changes an organization. Errors are *ledger.Refusal. If the requested status may not follow the
// current status, the code is IllegalTransition.
func (s *Service) PatchOrganization(ctx context.Context, id ledger.ID, change schema.Change[directory.Organization]) (*directory.Organization, error) {
	const op = "directory.PatchOrganization"
	if _, ok := s.org(id); !ok {
		return nil, notFound(op, "organization")
	}
	var next *directory.Organization
	err := s.write(ctx, id, op, func(ledger.Micros) (*posting.Change, any, error) {
		inView, _ := s.organizations.get(id)
		old := inView.current.Load()
		patched, event, err := old.record.Patch(change)
		if next = patched; err != nil || event.Name == "" {
			return nil, nil, err
		}
		return &posting.Change{Steps: []posting.Step{stepWithoutSecrets(directory.Organizations, id, old.header.Version, next, event)}}, next, nil
	}, func(headers []posting.RecordHeader) {
		s.organizations.put(id, next, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}
