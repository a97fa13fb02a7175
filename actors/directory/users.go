package directory

import (
	"context"

	"github.com/ccojocar/zxcvbn-go"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Bounds of zxcvbn, a library that scores how hard a password is to guess: 0 is the worst score, and 4 the best. The
// running time of zxcvbn grows much faster than the length of the password, so only the beginning of a password is
// scored.
const (
	minPassScore  = 2
	maxScoredPass = 40 // bytes
)

// checkPass refuses a password that is easy to guess. It also refuses a password that is easy to guess for somebody who
// knows the given texts (the account's login, name and e-mail address). Users and partners log in at the same route, so
// the same rule applies to both.
func checkPass(pass []byte, knownTexts ...string) error {
	if err := directory.CheckPassword(pass); err != nil {
		return err
	}
	scoredPart := string(pass[:min(len(pass), maxScoredPass)])
	if zxcvbn.PasswordStrength(scoredPart, knownTexts).Score < minPassScore {
		return ledger.RefuseField("directory.checkPass", "pass", "is too easy to guess")
	}
	return nil
}

// User finds a user of the organization.
func (s *Service) User(org, user ledger.ID) (*directory.User, bool) { return users.find(s, org, user) }

// ListUsers returns a page of an organization's users.
func (s *Service) ListUsers(org ledger.ID, p Page) ([]*directory.User, Cursor, error) {
	return users.list(s, org, p)
}

// CreateUser adds a user with the draft's fields and the password, which must not be easy to guess. If a user or a
// partner of the organization already has the login, the error is a Conflict. Errors are *ledger.Refusal.
func (s *Service) CreateUser(ctx context.Context, org ledger.ID, draft directory.User, pass []byte) (*directory.User, error) {
	const op = "directory.CreateUser"
	o, err := s.writable(op, org)
	if err != nil {
		return nil, err
	}
	draft.Org, draft.ID = org, uuid.New()
	_, _, err = directory.NewUser(draft)
	if err := directory.Join(err, o.checkUserPartner(op, draft.Partner), checkPass(pass, draft.Login, draft.Name, draft.Email)); err != nil || isDryRun(ctx) {
		return nil, err
	}
	if o.hasLogin(draft.Login) { // refuse before the costly hashing
		return nil, loginTaken(op)
	}
	if draft.PassHash, err = s.passwords.hash(ctx, s.random, pass); err != nil {
		return nil, err
	}
	created, err := users.create(ctx, s, op, org, func(*organization, ledger.Micros) (*directory.User, ledger.Event, []ledger.Claim, error) {
		u, event, err := directory.NewUser(draft)
		return u, event, []ledger.Claim{loginClaim(&draft)}, err
	})
	if ledger.IsRefusal(err, ledger.ClaimTaken) {
		err = loginTaken(op)
	}
	return created, err
}

// loginClaim returns the claim that makes a user's login unique in the organization.
func loginClaim(u *directory.User) ledger.Claim {
	return ledger.Claim{Org: u.Org, Kind: ledger.ClaimLogin, Key: u.Login, Owner: u.ID[:]}
}

// PatchUser changes a user. pass is the new password, or nil if the user keeps the current password. If the change ends
// the user's sessions (see directory.User.Patch), the sessions have ended before PatchUser returns. Errors are
// *ledger.Refusal. If the organization has no such user, the code is NotFound.
func (s *Service) PatchUser(ctx context.Context, org, user ledger.ID, change schema.Change[directory.User], pass []byte) (*directory.User, error) {
	const op = "directory.PatchUser"
	if pass != nil {
		u, ok := s.User(org, user)
		if !ok {
			return nil, notFound(op, "user")
		}
		o, _ := s.orgs.get(org)
		_, _, err := o.patchUser(op, u, change) // refuse before the costly hashing
		if err = directory.Join(err, checkPass(pass, u.Login, u.Name, u.Email)); err != nil || isDryRun(ctx) {
			return nil, err
		}
		hash, err := s.passwords.hash(ctx, s.random, pass)
		if err != nil {
			return nil, err
		}
		patchOtherFields := change
		change = func(u *directory.User, f *schema.Faults) {
			patchOtherFields(u, f)
			u.PassHash = hash
		}
	}
	return users.change(ctx, s, op, org, users.at(user), func(o *organization, old *directory.User, _ ledger.Micros) (*directory.User, ledger.Event, error) {
		return o.patchUser(op, old, change)
	})
}

// patchUser decides on a change of a user. If the change names a partner, it checks that the partner exists.
func (o *organization) patchUser(op string, old *directory.User, change schema.Change[directory.User]) (*directory.User, ledger.Event, error) {
	patched := *old
	change(&patched, new(schema.Faults))
	next, event, err := old.Patch(change)
	if patched.Partner != old.Partner {
		err = directory.Join(err, o.checkUserPartner(op, patched.Partner))
	}
	return next, event, err
}

// checkUserPartner checks that the organization has the partner for whom a user is to act. It accepts 0, which means no
// partner.
func (o *organization) checkUserPartner(op string, partner int64) error {
	if partner == 0 {
		return nil
	}
	if _, ok := o.partner(partner); !ok {
		return ledger.RefuseField(op, "partner_id", "partner %d does not exist", partner)
	}
	return nil
}

// putUser puts a durable user into the view, where readers find it.
func (o *organization) putUser(u *directory.User, header posting.RecordHeader) {
	u.CreatedAt, u.FirstSeq = header.StartedAt, header.FirstSeq
	o.users.put(u.ID, u, header)
	o.logins.Store(u.Login, u.ID)
}
