package storefront

import (
	"context"
	"fmt"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
	"mizan/posting"
)

// Writer makes the records of an organization durable, and finds the organization's partners. *Service of
// actors/directory implements it.
type Writer interface {
	// Write calls decide in the organization's actor, makes the returned Change durable and then calls publish with the
	// headers of the Change's steps. decide also returns the record, from which the reply that is stored with an
	// idempotency key is made. If decide returns no Change, nothing is written.
	Write(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, any, error), publish func([]posting.RecordHeader)) error

	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
}

// Service creates, reads, changes and lists payment links, products and images. An error is a *ledger.Refusal,
// or directory.Refusals if several fields are wrong, or comes from the store.
type Service struct {
	journal *posting.Journal
	writer  Writer
	base    string
}

// New returns the service. base is the scheme and host of public addresses, without a slash at the end.
func New(journal *posting.Journal, writer Writer, base string) *Service {
	return &Service{journal: journal, writer: writer, base: base}
}

// recordKind describes how one kind of record is stored, listed and shown.
type recordKind[R any] struct {
	kind    ledger.Kind
	columns *schema.Type[R]
	lists   *ledger.PartnerLists[R]
	all     ledger.PartnerList
	partner func(*R) int64
	show    func(*Service, *posting.View, *R) error // adds what a response shows but the stored record does not contain
}

var (
	links = recordKind[storefront.Link]{
		ledger.Link, storefront.Links, storefront.LinkLists, storefront.AllLinks, func(l *storefront.Link) int64 { return l.Partner }, (*Service).showLink,
	}
	products = recordKind[storefront.Product]{
		ledger.Product, storefront.Products, storefront.ProductLists, storefront.AllProducts, func(p *storefront.Product) int64 { return p.Partner }, (*Service).showProduct,
	}
	images = recordKind[storefront.Image]{kind: ledger.Image, columns: storefront.Images, show: (*Service).showImage}
)

// read returns the stored record and its version. The record is nil if the organization has no such record.
func (k *recordKind[R]) read(view *posting.View, org, id ledger.ID) (*R, uint64, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: k.kind, ID: id})
	if err != nil || !found {
		return nil, 0, err
	}
	r, err := k.columns.Read(schema.RowMetadata{Org: org, ID: id, CreatedAt: stored.Header.StartedAt, UpdatedAt: stored.Header.UpdatedAt}, stored.Payload, schema.NoKeys)
	if err != nil {
		return nil, 0, fmt.Errorf("storefront: %s %v: %w", k.columns.Name, id, err)
	}
	return r, stored.Header.Version, nil
}

// find returns a record in the form that responses show. If partner is not 0, only a record of this partner is found.
func (k *recordKind[R]) find(s *Service, org ledger.ID, partner int64, id ledger.ID) (*R, error) {
	view := s.journal.View()
	defer view.Close()
	r, _, err := k.read(view, org, id)
	if err == nil && (r == nil || !k.belongsTo(r, partner)) {
		err = k.notFound()
	}
	if err == nil {
		err = k.show(s, view, r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (k *recordKind[R]) belongsTo(r *R, partner int64) bool {
	return partner == 0 || k.partner(r) == partner
}

func (k *recordKind[R]) notFound() error {
	return ledger.Refuse("storefront", ledger.NotFound, "no such %s", k.columns.Name)
}

// create makes a new record durable. The argument decide returns the record and its first event.
func (k *recordKind[R]) create(ctx context.Context, s *Service, org ledger.ID, decide func(*posting.View) (*R, ledger.Event, error)) (*R, error) {
	var created *R
	err := s.writer.Write(ctx, org, "storefront.Create", func(ledger.Micros) (*posting.Change, any, error) {
		view := s.journal.View()
		defer view.Close()
		r, event, err := decide(view)
		if err != nil {
			return nil, nil, err
		}
		step := k.step(org, 0, r, event)
		if k.lists != nil {
			step.List, step.FurtherLists = k.lists.Of(r)
		}
		owner := org
		claim := ledger.Claim{Org: directory.PlatformOrg, Kind: ledger.ClaimAddress, Key: storefront.AddressKey(event.Source), Owner: owner[:]}
		created = r
		return &posting.Change{Steps: []posting.Step{step}, Claims: []ledger.Claim{claim}}, r, k.show(s, view, r)
	}, func(headers []posting.RecordHeader) {
		setCreated(created, headers[0].StartedAt)
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// change makes the next version of a record durable. The argument decide returns this version and its event. If
// the event has no name, nothing is written.
func (k *recordKind[R]) change(ctx context.Context, s *Service, org ledger.ID, partner int64, id ledger.ID, decide func(*posting.View, *R) (*R, ledger.Event, []ledger.CounterGuard, error)) (*R, error) {
	if _, err := k.find(s, org, partner, id); err != nil {
		return nil, err
	}
	var next *R
	err := s.writer.Write(ctx, org, "storefront.Change", func(ledger.Micros) (*posting.Change, any, error) {
		view := s.journal.View()
		defer view.Close()
		old, version, err := k.read(view, org, id)
		if err == nil && old == nil {
			err = k.notFound()
		}
		if err != nil {
			return nil, nil, err
		}
		r, event, guards, err := decide(view, old)
		if err != nil {
			return nil, nil, err
		}
		if err := k.show(s, view, r); err != nil {
			return nil, nil, err
		}
		if next = r; event.Name == "" {
			return nil, nil, nil
		}
		return &posting.Change{Steps: []posting.Step{k.step(org, version, r, event)}, Counters: guards}, r, nil
	}, func([]posting.RecordHeader) {})
	if err != nil {
		return nil, err
	}
	return next, nil
}

func (k *recordKind[R]) step(org ledger.ID, expect uint64, r *R, event ledger.Event) posting.Step {
	stored, err := k.columns.AppendStored(nil, r, schema.NoKeys)
	assert.NoError(err) // cannot fail: only secrets need keys, and the record contains none
	return posting.Step{Org: org, Source: event.Source, Expect: expect, Record: stored, Events: []ledger.Event{event}}
}

// Page selects a page of a partner's records, newest first.
type Page struct {
	Env    money.Env
	Active *bool         // if true, only active records; if false, only inactive ones; nil for all
	Before ledger.Micros // only records created before this time; 0 to start with the newest
	Limit  int           // maximum number of records; must be above 0
}

// maxRead bounds the number of records that are read for one page. If the bound is reached, the page contains
// fewer records than allowed, and the next page continues after the last record that was read.
const maxRead = 500

// list returns a page of a partner's records. To get the next page, the caller passes next as Page.Before; on the
// last page next is 0.
func (k *recordKind[R]) list(s *Service, org ledger.ID, partner int64, p Page, isActive func(*R) bool) (rows []*R, next ledger.Micros, err error) {
	view := s.journal.View()
	defer view.Close()
	readCount := 0
	var last ledger.Micros // creation time of the last record that was read
	err = view.List(org, k.all.Of(partner, p.Env), posting.ListRange{Before: p.Before}, func(row posting.ListRow) (bool, error) {
		if readCount++; readCount > maxRead {
			next = last
			return false, nil
		}
		r, _, err := k.read(view, org, row.ID)
		if err != nil || r == nil {
			return false, fmt.Errorf("storefront: %s %v is listed: %w", k.columns.Name, row.ID, orMissing(err))
		}
		isSelected := p.Active == nil || *p.Active == isActive(r)
		if isSelected && len(rows) == p.Limit {
			next = last
			return false, nil
		}
		if last = row.Booked; isSelected {
			rows = append(rows, r)
			err = k.show(s, view, r)
		}
		return err == nil, err
	})
	return rows, next, err
}
