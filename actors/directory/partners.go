package directory

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// CreatePartner adds a partner with the draft's fields and the password, which must not be easy to guess. If the
// organization already has the login, the error is a Conflict. Errors are *ledger.Refusal.
func (s *Service) CreatePartner(ctx context.Context, org ledger.ID, draft directory.Partner, pass []byte) (*directory.Partner, error) {
	const op = "directory.CreatePartner"
	o, err := s.writable(op, org)
	if err != nil {
		return nil, err
	}
	// 1 stands for the real number, which is reserved after everything else is checked
	draft.Org, draft.ID, draft.Number = org, uuid.New(), 1
	_, _, err = directory.NewPartner(draft, s.privateAddressesAllowed.Load())
	if err := directory.Join(err, checkPass(pass, draft.Login, draft.Name, draft.Email)); err != nil || isDryRun(ctx) {
		return nil, err
	}
	if o.hasLogin(draft.Login) { // refuse now, before the password is hashed and a number is reserved
		return nil, loginTaken(op)
	}
	if draft.PassHash, err = s.passwords.hash(ctx, s.random, pass); err != nil {
		return nil, err
	}
	if draft.Number, err = s.reservePartnerNumber(ctx); err != nil {
		return nil, err
	}
	created, err := partners.create(ctx, s, op, org, func(*organization, ledger.Micros) (*directory.Partner, ledger.Event, []ledger.Claim, error) {
		p, event, err := directory.NewPartner(draft, s.privateAddressesAllowed.Load())
		return p, event, partnerClaims(&draft), err
	})
	if ledger.IsRefusal(err, ledger.ClaimTaken) {
		// The number is new, so it is the login that is already claimed.
		err = loginTaken(op)
	}
	if certainlyRefused(err) {
		s.returnNumber(draft.Number)
	}
	return created, err
}

// checkOwner checks that a new record's partner exists. It accepts a record without a partner, because the check of the
// record's fields refuses it.
func (o *organization) checkOwner(op string, number int64) error {
	if _, ok := o.partner(number); ok || number == 0 {
		return nil
	}
	return ledger.RefuseField(op, "partner_id", "partner %d does not exist", number)
}

// partnerClaims returns the claims that make a partner's login unique in the organization, and the partner's number unique
// on the platform.
func partnerClaims(p *directory.Partner) []ledger.Claim {
	return []ledger.Claim{
		{Org: p.Org, Kind: ledger.ClaimLogin, Key: p.Login, Owner: p.ID[:]},
		{Org: directory.PlatformOrg, Kind: ledger.ClaimNumber, Key: strconv.FormatInt(p.Number, 10), Owner: p.ID[:]},
	}
}

func (o *organization) hasLogin(login string) bool {
	_, taken := o.logins.Load(login)
	return taken
}

func loginTaken(op string) error {
	refusal := ledger.Refuse(op, ledger.Conflict, "the login is taken")
	refusal.Field = "login"
	return refusal
}

// PatchPartner changes a partner. Errors are *ledger.Refusal. If the organization has no such partner, the code is
// NotFound.
func (s *Service) PatchPartner(ctx context.Context, org ledger.ID, number int64, change schema.Change[directory.Partner]) (*directory.Partner, error) {
	find := func(o *organization) (*viewRecord[directory.Partner], bool) { return o.partner(number) }
	return partners.change(ctx, s, "directory.PatchPartner", org, find, func(_ *organization, old *directory.Partner, _ ledger.Micros) (*directory.Partner, ledger.Event, error) {
		return old.Patch(change, s.privateAddressesAllowed.Load())
	})
}

// PatchPartnerPass changes a partner like PatchPartner, and also sets a new password. The new password ends the partner's
// sessions.
func (s *Service) PatchPartnerPass(ctx context.Context, org ledger.ID, number int64, change schema.Change[directory.Partner], pass []byte) (*directory.Partner, error) {
	current, ok := s.Partner(org, number)
	if !ok {
		return nil, notFound("directory.PatchPartner", "partner")
	}
	next, _, err := current.Patch(change, s.privateAddressesAllowed.Load()) // refuse before the costly hashing
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
	return s.PatchPartner(ctx, org, number, func(p *directory.Partner, f *schema.Faults) {
		change(p, f)
		p.PassHash = hash
	})
}
