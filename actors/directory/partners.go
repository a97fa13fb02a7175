package directory

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// CreatePartner adds a partner, whose password must not be easy to guess. A login that the
// organization already has is a Conflict. Errors are *ledger.Refusal.
func (s *Service) CreatePartner(ctx context.Context, org ledger.ID, d directory.PartnerDraft, pass []byte) (*directory.Partner, error) {
	const op = "directory.CreatePartner"
	o, err := s.writable(op, org)
	if err != nil {
		return nil, err
	}
	d.PrivateHooks = s.privateHooks.Load()
	if err := directory.Join(d.Check(), checkPass(pass, d.Login, d.Name, d.Email)); err != nil || isDryRun(ctx) {
		return nil, err
	}
	if o.hasLogin(d.Login) { // before a hash and a number are spent on it
		return nil, loginTaken(op)
	}
	if d.PassHash, err = s.passwords.hash(ctx, s.random, pass); err != nil {
		return nil, err
	}
	number, err := s.reserve(ctx)
	if err != nil {
		return nil, err
	}
	created, err := s.createPartner(ctx, org, number, d)
	if unused(err) {
		s.giveBack(number)
	}
	return created, err
}

func (s *Service) createPartner(ctx context.Context, org ledger.ID, number int64, d directory.PartnerDraft) (*directory.Partner, error) {
	const op = "directory.CreatePartner"
	var created *directory.Partner
	id := uuid.New()
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, nil, err
		}
		p, event, err := directory.NewPartner(id, org, number, d)
		if err != nil {
			return nil, nil, err
		}
		created = p
		record, err := s.sealPartner(p)
		if err != nil {
			return nil, nil, err
		}
		return &posting.Change{
			Steps:  []posting.Step{step(org, 0, record, event)},
			Claims: partnerClaims(p),
		}, p, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putPartner(created, stamps[0])
	})
	if codeOf(err) == ledger.ClaimTaken {
		// The number is fresh, so the taken claim is the login's.
		err = loginTaken(op)
	}
	if err != nil {
		return nil, err
	}
	return created, nil
}

// owner returns the partner that a new record is to belong to. If the partner does not exist, it
// returns an error and a placeholder partner, so that the caller can check the rest of the record
// too.
func (o *org) owner(op string, number int64) (*directory.Partner, error) {
	if place, ok := o.partner(number); ok {
		return place.record(), nil
	}
	return &directory.Partner{Org: o.id, Number: number}, ledger.RefuseField(op, "partner_id", "no such partner")
}

// partnerClaims makes the login unique in its organization and the number unique on the platform.
func partnerClaims(p *directory.Partner) []ledger.Claim {
	return []ledger.Claim{
		{Org: p.Org, Kind: ledger.ClaimLogin, Key: p.Login, Owner: p.ID[:]},
		{Org: directory.PlatformOrg, Kind: ledger.ClaimNumber, Key: strconv.FormatInt(p.Number, 10), Owner: p.ID[:]},
	}
}

func (o *org) hasLogin(login string) bool {
	_, taken := o.logins.Load(login)
	return taken
}

func loginTaken(op string) error {
	refusal := ledger.Refuse(op, ledger.Conflict, "the login is taken")
	refusal.Field = "login"
	return refusal
}

// PatchPartner changes a partner. Errors are *ledger.Refusal, NotFound for a partner that the
// organization does not have.
func (s *Service) PatchPartner(ctx context.Context, org ledger.ID, number int64, p directory.PartnerPatch) (*directory.Partner, error) {
	p.PrivateHooks = s.privateHooks.Load()
	return s.changePartner(ctx, org, number, func(old *directory.Partner) (*directory.Partner, ledger.Event, error) { return old.Patch(p) })
}

// PatchPartnerPass does what PatchPartner does and sets a new password, which ends the partner's
// sessions.
func (s *Service) PatchPartnerPass(ctx context.Context, org ledger.ID, number int64, p directory.PartnerPatch, pass []byte) (*directory.Partner, error) {
	current, ok := s.Partner(org, number)
	if !ok {
		return nil, notFound("directory.PatchPartner", "partner")
	}
	p.PrivateHooks = s.privateHooks.Load()
	next, _, err := current.Patch(p) // before a hash is spent on it
	if err != nil {
		next = current
	}
	if err := directory.Join(err, checkPass(pass, next.Login, next.Name, next.Email)); err != nil || isDryRun(ctx) {
		return nil, err
	}
	hash, err := s.passwords.hash(ctx, s.random, pass)
	if err != nil {
		return nil, err
	}
	p.PassHash = &hash
	return s.PatchPartner(ctx, org, number, p)
}

func (s *Service) changePartner(ctx context.Context, org ledger.ID, number int64, change func(*directory.Partner) (*directory.Partner, ledger.Event, error)) (*directory.Partner, error) {
	const op = "directory.PatchPartner"
	if _, ok := s.Partner(org, number); !ok {
		return nil, notFound(op, "partner")
	}
	var next *directory.Partner
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		place, _ := o.partner(number)
		old := place.now.Load()
		changed, event, err := change(old.record)
		if next = changed; err != nil || event.Name == "" {
			return nil, nil, err
		}
		record, err := s.sealPartner(next)
		if err != nil {
			return nil, nil, err
		}
		return &posting.Change{Steps: []posting.Step{step(org, old.stamp.Version, record, event)}}, next, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putPartner(next, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}
