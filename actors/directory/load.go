package directory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// load fills the view (the records in memory) from the store.
func (s *Service) load() error {
	v := s.rt.Journal.View()
	defer v.Close()
	return s.loadFrom(v)
}

// loadFrom reads the platform's record and every organization that is not yet in the view.
func (s *Service) loadFrom(v *posting.View) error {
	r, found, err := v.Record(directory.PlatformOrg, ledger.Source{Kind: ledger.Platform, ID: directory.PlatformID})
	if err != nil {
		return err
	}
	p := s.newPlatform()
	if found {
		if p, err = directory.Platforms.Read(metadataOf(directory.PlatformOrg, directory.PlatformID, r.Header), r.Payload, nil); err != nil {
			return fmt.Errorf("directory: the platform's record: %w", err)
		}
	}
	s.putPlatform(p, r.Header)
	return v.Organizations(func(id ledger.ID) (bool, error) {
		if _, known := s.org(id); known || id == directory.PlatformOrg {
			return true, nil
		}
		return true, s.loadOrg(v, id)
	})
}

// reload reads one organization's part of the view, or the platform's part, from the store again.
func (s *Service) reload(id ledger.ID) error {
	v := s.rt.Journal.View()
	defer v.Close()
	if id == directory.PlatformOrg {
		return s.loadFrom(v)
	}
	return s.loadOrg(v, id)
}

// loadOrg reads one organization and publishes it as a whole. If the store has no record of the organization
// itself, its other records belong to a ledger that the directory does not manage; loadOrg ignores them.
func (s *Service) loadOrg(v *posting.View, id ledger.ID) error {
	r, found, err := v.Record(id, ledger.Source{Kind: ledger.Organization, ID: id})
	if err != nil || !found {
		return err
	}
	record, err := directory.Organizations.Read(metadataOf(id, id, r.Header), r.Payload, nil)
	if err != nil {
		return unreadable(ledger.Organization, id, err)
	}
	o := newOrg(id, &s.global)
	if err := o.load(v, s, ledger.MicrosOf(s.rt.Clock.Now())); err != nil {
		return err
	}
	s.putOrganization(o, record, r.Header)
	return nil
}

// Arrive reads an organization that was moved into this store, or that was to be moved and has stayed.
func (s *Service) Arrive(ctx context.Context, org ledger.ID) error {
	s.mustReload.Store(org, true)
	return s.run(ctx, org, "directory.Arrive", func(ledger.Micros) (*posting.Change, error) { return nil, nil }, nil)
}

func (o *organization) load(v *posting.View, s *Service, now ledger.Micros) error {
	for _, load := range []func(*Service, *posting.View, *organization) error{partners.load, terminals.load, keys.load, users.load, limits.load, rates.load} {
		if err := load(s, v, o); err != nil {
			return err
		}
	}
	if err := o.loadSessions(v, now); err != nil {
		return err
	}
	return o.loadBlocks(v)
}

// storedRecord is a record and its header (version and times), as read from the store.
type storedRecord[T any] struct {
	record *T
	header posting.RecordHeader
}

// readKind returns the records of one kind for which keep returns true, or all records if keep is nil. The
// result is in the order of creation, so that each record can be appended to the end of its index. All other
// records take no memory, however many of them the store has.
func readKind[T any](v *posting.View, org ledger.ID, kind ledger.Kind, decode func(at schema.RowMetadata, payload []byte) (*T, error), keep func(*T) bool) ([]storedRecord[T], error) {
	var records []storedRecord[T]
	err := v.Records(org, kind, func(id ledger.ID, r posting.Record) (bool, error) {
		record, err := decode(metadataOf(org, id, r.Header), r.Payload)
		if err != nil {
			return false, unreadable(kind, id, err)
		}
		if keep == nil || keep(record) {
			records = append(records, storedRecord[T]{record, r.Header})
		}
		return true, nil
	})
	slices.SortFunc(records, func(a, b storedRecord[T]) int { return cmp.Compare(a.header.StartedAt, b.header.StartedAt) })
	return records, err
}

func unreadable(kind ledger.Kind, id ledger.ID, err error) error {
	return fmt.Errorf("directory: record %c/%s: %w", kind, id, err)
}
