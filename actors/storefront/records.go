package storefront

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
	"mizan/posting"
)

var errMissing = errors.New("it does not exist")

func orMissing(err error) error {
	if err == nil {
		return errMissing
	}
	return err
}

// setCreated sets a new record's time of creation, which the journal's writer has chosen.
func setCreated(record any, at ledger.Micros) {
	switch r := record.(type) {
	case *storefront.Link:
		r.CreatedAt = at
	case *storefront.Product:
		r.CreatedAt = at
	case *storefront.Image:
		r.CreatedAt = at
	}
}

// CreateLink creates a payment link with the fields of the draft, which include the partner.
func (s *Service) CreateLink(ctx context.Context, org ledger.ID, draft storefront.Link) (*storefront.Link, error) {
	draft.ID, draft.Org = uuid.New(), org
	return links.create(ctx, s, org, func(view *posting.View) (*storefront.Link, ledger.Event, error) {
		faults := s.checkPartner(org, draft.Partner)
		draft, err := draft, s.completeLink(view, &draft, faults)
		if err != nil {
			return nil, ledger.Event{}, err
		}
		l, event, err := storefront.NewLink(draft, faults)
		return l, event, refused(err)
	})
}

// PatchLink changes a link. If partner is not 0, only a link of this partner is found.
func (s *Service) PatchLink(ctx context.Context, org ledger.ID, partner int64, id ledger.ID, change schema.Change[storefront.Link]) (*storefront.Link, error) {
	l, err := links.change(ctx, s, org, partner, id, func(view *posting.View, old *storefront.Link) (*storefront.Link, ledger.Event, []ledger.CounterGuard, error) {
		var failure error
		old.Base = s.base
		next, event, err := old.Patch(func(l *storefront.Link, f *schema.Faults) {
			if change(l, f); f.IsEmpty() {
				failure = s.completeLink(view, l, f)
			}
		})
		if err = errors.Join(failure, refused(err)); err != nil {
			return nil, ledger.Event{}, nil, err
		}
		guards, err := s.fixedAsset(view, old, next)
		return next, event, guards, err
	})
	if ledger.IsRefusal(err, ledger.LimitExceeded) { // a payment began after fixedAsset had found that there was none
		err = assetIsFixed("amount.currency")
	}
	return l, err
}

// assetIsFixed returns the refusal of a request that changes the currency or the network of a link with payments.
func assetIsFixed(field string) error {
	return ledger.RefuseField("storefront.PatchLink", field, "never changes after the first payment")
}

// fixedAsset returns a refusal if the asset (currency and network) of a link with payments would change. Otherwise it returns
// guards, which the writer checks. If a first payment begins meanwhile, one of the guards makes the writer refuse the change.
func (s *Service) fixedAsset(view *posting.View, old, next *storefront.Link) ([]ledger.CounterGuard, error) {
	if next.Asset() == old.Asset() {
		return nil, nil
	}
	guard := ledger.RefuseIfLinkHasPayments(old.Org, old.ID)
	began, err := view.Counter(old.Org, guard.Key, "")
	if err == nil && !began.IsZero() {
		field := "amount.currency"
		if next.Amount.Currency == old.Amount.Currency {
			field = "amount.network"
		}
		err = assetIsFixed(field)
	}
	guards := []ledger.CounterGuard{guard, ledger.AddLinkFormerAsset(old.Org, old.ID, old.Asset())}
	abandoned, counterErr := view.Counter(old.Org, ledger.LinkFormerAssetKey(old.ID, next.Asset()), "")
	if !abandoned.IsZero() {
		guards = append(guards, ledger.RemoveLinkFormerAsset(old.Org, old.ID, next.Asset()))
	}
	return guards, errors.Join(err, counterErr)
}

// Link returns a link. If partner is not 0, only a link of this partner is found.
func (s *Service) Link(org ledger.ID, partner int64, id ledger.ID) (*storefront.Link, error) {
	return links.find(s, org, partner, id)
}

// Links returns a page of a partner's links. To get the next page, the caller passes next as Page.Before; on the last
// page next is 0.
func (s *Service) Links(org ledger.ID, partner int64, p Page) (rows []*storefront.Link, next ledger.Micros, err error) {
	return links.list(s, org, partner, p, func(l *storefront.Link) bool { return l.Active })
}

// CreateProduct creates a product with the fields of the draft, which include the partner.
func (s *Service) CreateProduct(ctx context.Context, org ledger.ID, draft storefront.Product) (*storefront.Product, error) {
	draft.ID, draft.Org = uuid.New(), org
	return products.create(ctx, s, org, func(view *posting.View) (*storefront.Product, ledger.Event, error) {
		faults := s.checkPartner(org, draft.Partner)
		draft, err := draft, s.resolve(view, org, &draft.Image, faults)
		if err != nil {
			return nil, ledger.Event{}, err
		}
		p, event, err := storefront.NewProduct(draft, faults)
		return p, event, refused(err)
	})
}

// PatchProduct changes a product. If partner is not 0, only a product of this partner is found.
func (s *Service) PatchProduct(ctx context.Context, org ledger.ID, partner int64, id ledger.ID, change schema.Change[storefront.Product]) (*storefront.Product, error) {
	return products.change(ctx, s, org, partner, id, func(view *posting.View, old *storefront.Product) (*storefront.Product, ledger.Event, []ledger.CounterGuard, error) {
		var failure error
		old.Base = s.base
		next, event, err := old.Patch(func(p *storefront.Product, f *schema.Faults) {
			if change(p, f); f.IsEmpty() {
				failure = s.resolve(view, org, &p.Image, f)
			}
		})
		return next, event, nil, errors.Join(failure, refused(err))
	})
}

// Product returns a product. If partner is not 0, only a product of this partner is found.
func (s *Service) Product(org ledger.ID, partner int64, id ledger.ID) (*storefront.Product, error) {
	return products.find(s, org, partner, id)
}

// Products returns a page of a partner's products. To get the next page, the caller passes next as Page.Before; on
// the last page next is 0.
func (s *Service) Products(org ledger.ID, partner int64, p Page) (rows []*storefront.Product, next ledger.Micros, err error) {
	return products.list(s, org, partner, p, func(p *storefront.Product) bool { return p.Active })
}

// CreateImage stores an image.
func (s *Service) CreateImage(ctx context.Context, org ledger.ID, draft storefront.Image) (*storefront.Image, error) {
	draft.ID, draft.Org = uuid.New(), org
	return images.create(ctx, s, org, func(*posting.View) (*storefront.Image, ledger.Event, error) {
		m, event := storefront.NewImage(draft)
		return m, event, nil
	})
}

// PublicImage returns the content and the format of the image with this name, which may also be the name of one of the
// smaller sizes of an image. If there is no such image, the content is nil.
func (s *Service) PublicImage(name string) (content []byte, format storefront.Format, err error) {
	id, purpose, isSized := storefront.ParseSizedImageName(name)
	if isSized {
		m, err := public(s, &images, id)
		if m == nil {
			return nil, "", err
		}
		sized := m.SizedFor(purpose)
		return sized.Content, sized.Format, err
	}
	id, format, ok := storefront.ParseName(name)
	if !ok {
		return nil, "", nil
	}
	m, err := public(s, &images, id)
	if m == nil || m.Format != format {
		return nil, "", err
	}
	return m.Content, m.Format, err
}

// IsImage tells whether the organization has uploaded an image with this address.
func (s *Service) IsImage(org ledger.ID, address string) (bool, error) {
	view := s.journal.View()
	defer view.Close()
	p, faults := storefront.PictureAt(address), new(schema.Faults)
	err := s.resolve(view, org, &p, faults)
	return faults.IsEmpty() && address != "", err
}

// PublicLink returns the link with this id, whatever its organization, or nil if there is no such link.
func (s *Service) PublicLink(id ledger.ID) (*storefront.Link, error) { return public(s, &links, id) }

// PublicProduct returns the product with this id, whatever its organization, or nil if there is no such product.
func (s *Service) PublicProduct(id ledger.ID) (*storefront.Product, error) {
	return public(s, &products, id)
}

// public finds a record of any organization by the id in its public address.
func public[R any](s *Service, t *recordKind[R], id ledger.ID) (*R, error) {
	view := s.journal.View()
	defer view.Close()
	owner, found, err := view.Claim(directory.PlatformOrg, ledger.ClaimAddress, storefront.AddressKey(ledger.Source{Kind: t.kind, ID: id}))
	if err != nil || !found || len(owner) != len(ledger.ID{}) || s.journal.IsElsewhere(ledger.ID(owner)) {
		return nil, err
	}
	r, _, err := t.read(view, ledger.ID(owner), id)
	if err == nil && r != nil {
		err = t.show(s, view, r)
	}
	return r, err
}

// checkPartner returns a fault if the organization has no partner with this number.
func (s *Service) checkPartner(org ledger.ID, number int64) *schema.Faults {
	faults := new(schema.Faults)
	if _, exists := s.writer.Partner(org, number); !exists && number != 0 {
		faults.Add("partner_id", "partner %d does not exist", number)
	}
	return faults
}

// refused converts an error that lists faults of a record's fields to refusals. It returns any other error unchanged.
func refused(err error) error {
	var faults *schema.Faults
	if errors.As(err, &faults) {
		return directory.FaultsAsRefusals("storefront", faults)
	}
	return err
}

// completeLink looks up the image and the products to which a link refers. The error comes from the store.
func (s *Service) completeLink(view *posting.View, l *storefront.Link, f *schema.Faults) error {
	err := s.resolve(view, l.Org, &l.Image, f)
	l.BindProducts(func(id ledger.ID) *storefront.Product {
		p, _, readErr := products.read(view, l.Org, id)
		err = errors.Join(err, readErr)
		return p
	})
	return err
}

// resolve looks up the image whose address is in a request. The error comes from the store.
func (s *Service) resolve(view *posting.View, org ledger.ID, p *storefront.Picture, f *schema.Faults) (err error) {
	p.Resolve(s.base, func(name string) bool {
		id, format, ok := storefront.ParseName(name)
		if !ok {
			return false
		}
		var m *storefront.Image
		m, _, err = images.read(view, org, id)
		return m != nil && m.Format == format
	}, f)
	return err
}

func (s *Service) showImage(_ *posting.View, m *storefront.Image) error {
	m.Base = s.base
	return nil
}

func (s *Service) showProduct(_ *posting.View, p *storefront.Product) error {
	p.Base = s.base
	return nil
}

// showLink adds to a link what a response shows: its products, and the number and the amount of its payments.
func (s *Service) showLink(view *posting.View, l *storefront.Link) error {
	l.Base = s.base
	var failure error
	l.ResolveProducts(func(id ledger.ID) *storefront.Product {
		p, _, err := products.read(view, l.Org, id)
		if failure = errors.Join(failure, err); p != nil {
			p.Base = s.base
		}
		return p
	})
	count, err := view.Counter(l.Org, ledger.LinkChargesKey(l.ID), "")
	failure = errors.Join(failure, err)
	n, _ := count.Uint64()
	amount, err := view.Counter(l.Org, ledger.LinkAmountKey(l.ID), "")
	l.Payments = storefront.Payments{Count: int64(n), Amount: amount}
	return errors.Join(failure, err)
}
