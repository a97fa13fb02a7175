package directory

import (
	"cmp"
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// load fills the view from the store.
func (s *Service) load() error {
	v := s.rt.Journal.View()
	defer v.Close()
	return s.loadFrom(v)
}

// loadFrom reads the platform's record and every organization that the view
// doesn't have.
func (s *Service) loadFrom(v *posting.View) error {
	r, found, err := v.Record(directory.PlatformOrg, ledger.Source{Kind: ledger.Platform, ID: directory.PlatformID})
	if err != nil {
		return err
	}
	p := directory.NewPlatform()
	if found {
		if p, err = decodePlatform(r.Payload); err != nil {
			return fmt.Errorf("directory: the platform's record: %w", err)
		}
	}
	s.putPlatform(p, r.Stamp)
	return v.Organizations(func(id ledger.ID) (bool, error) {
		if _, known := s.org(id); known || id == directory.PlatformOrg {
			return true, nil
		}
		return true, s.loadOrg(v, id)
	})
}

// reload reads an organization's part of the view, or the platform's, again.
func (s *Service) reload(id ledger.ID) error {
	v := s.rt.Journal.View()
	defer v.Close()
	if id == directory.PlatformOrg {
		return s.loadFrom(v)
	}
	return s.loadOrg(v, id)
}

// loadOrg reads one organization and publishes it as a whole. Records without
// an organization's record are a ledger of their own and none of the directory's.
func (s *Service) loadOrg(v *posting.View, id ledger.ID) error {
	r, found, err := v.Record(id, ledger.Source{Kind: ledger.Organization, ID: id})
	if err != nil || !found {
		return err
	}
	record, err := decodeOrganization(id, r.Payload)
	if err != nil {
		return unreadable(ledger.Organization, id, err)
	}
	o := newOrg(id)
	if err := o.load(v); err != nil {
		return err
	}
	s.putOrganization(o, record, r.Stamp)
	return nil
}

func (o *org) load(v *posting.View) error {
	if err := loadKind(v, o.id, ledger.Partner, decodePartner, o.putPartner); err != nil {
		return err
	}
	if err := loadKind(v, o.id, ledger.Terminal, decodeTerminal, o.putTerminal); err != nil {
		return err
	}
	if err := loadKind(v, o.id, ledger.APIKey, decodeKey, o.putKey); err != nil {
		return err
	}
	if err := loadKind(v, o.id, ledger.Session, decodeSession, o.putSession); err != nil {
		return err
	}
	return loadKind(v, o.id, ledger.Rate, decodeRate, o.putRate)
}

func loadKind[T any](v *posting.View, org ledger.ID, kind ledger.Kind, decode func(org, id ledger.ID, payload []byte) (*T, error), put func(*T, posting.Stamp)) error {
	type read struct {
		record *T
		stamp  posting.Stamp
	}
	var all []read
	err := v.Records(org, kind, func(id ledger.ID, r posting.Record) (bool, error) {
		record, err := decode(org, id, r.Payload)
		if err != nil {
			return false, unreadable(kind, id, err)
		}
		all = append(all, read{record, r.Stamp})
		return true, nil
	})
	if err != nil {
		return err
	}
	// In the order of creation each one goes to the end of its index.
	slices.SortFunc(all, func(a, b read) int { return cmp.Compare(a.stamp.Started, b.stamp.Started) })
	for _, r := range all {
		put(r.record, r.stamp)
	}
	return nil
}

func unreadable(kind ledger.Kind, id ledger.ID, err error) error {
	return fmt.Errorf("directory: record %c/%s: %w", kind, id, err)
}
