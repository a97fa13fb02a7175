package directory

import (
	"context"

	"github.com/ccojocar/zxcvbn-go"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// Bounds of zxcvbn, which scores from 0 to 4 how hard a password is to guess. Its running time
// grows much faster than its input, so only the beginning of a password is scored.
const (
	minPassScore  = 2
	maxScoredPass = 40 // bytes
)

// checkPass refuses a password that is easy to guess, also from the login and the names in known.
// Users and partners log in at the same route, so the same rule applies to both.
func checkPass(pass []byte, known ...string) error {
	if err := directory.CheckPass(pass); err != nil {
		return err
	}
	scored := string(pass[:min(len(pass), maxScoredPass)])
	if zxcvbn.PasswordStrength(scored, known).Score < minPassScore {
		return ledger.RefuseField("directory.checkPass", "pass", "is too easy to guess")
	}
	return nil
}

// User finds a user of the organization.
func (s *Service) User(id, user ledger.ID) (*directory.User, bool) {
	if o, ok := s.org(id); ok {
		if u, ok := o.users.get(user); ok {
			return u.record(), true
		}
	}
	return nil, false
}

// ListUsers returns a page of an organization's users.
func (s *Service) ListUsers(org ledger.ID, p Page) ([]*directory.User, Cursor, error) {
	o, ok := s.org(org)
	if !ok {
		return nil, Cursor{}, notFound("directory.ListUsers", "organization")
	}
	return page(&o.users, p, func(c *recordSlot[directory.User]) (*directory.User, bool) {
		r := c.record()
		return r, p.Partner == 0 || r.Partner == p.Partner
	})
}

// CreateUser adds a user, whose password must not be easy to guess. A login that a user or a
// partner of the organization already has is a Conflict. Errors are *ledger.Refusal.
func (s *Service) CreateUser(ctx context.Context, org ledger.ID, d directory.UserDraft, pass []byte) (*directory.User, error) {
	const op = "directory.CreateUser"
	o, err := s.writable(op, org)
	if err != nil {
		return nil, err
	}
	if err := directory.Join(d.Check(), o.actsAs(op, d.Partner), checkPass(pass, d.Login, d.Name, d.Email)); err != nil || isDryRun(ctx) {
		return nil, err
	}
	if o.hasLogin(d.Login) { // before a hash is spent on it
		return nil, loginTaken(op)
	}
	if d.PassHash, err = s.passwords.hash(ctx, s.random, pass); err != nil {
		return nil, err
	}
	var created *directory.User
	id := uuid.New()
	err = s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, nil, err
		}
		u, event, err := directory.NewUser(id, org, d)
		if err != nil {
			return nil, nil, err
		}
		created = u
		return &posting.Change{
			Steps:  []posting.Step{step(org, 0, encodeUser(u), event)},
			Claims: []ledger.Claim{{Org: org, Kind: ledger.ClaimLogin, Key: u.Login, Owner: u.ID[:]}},
		}, u, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putUser(created, stamps[0])
	})
	if codeOf(err) == ledger.ClaimTaken {
		err = loginTaken(op)
	}
	if err != nil {
		return nil, err
	}
	return created, nil
}

// PatchUser changes a user; pass is the new password, nil to keep the current one. A change that
// ends the user's sessions (directory.User.Patch) ends them before PatchUser returns. Errors are
// *ledger.Refusal, NotFound for a user that the organization does not have.
func (s *Service) PatchUser(ctx context.Context, org, id ledger.ID, p directory.UserPatch, pass []byte) (*directory.User, error) {
	const op = "directory.PatchUser"
	u, ok := s.User(org, id)
	if !ok {
		return nil, notFound(op, "user")
	}
	if pass != nil {
		o, _ := s.org(org)
		_, _, err := u.Patch(p) // before a hash is spent on it
		err = directory.Join(err, o.actsAs(op, asked(p.Partner)), checkPass(pass, u.Login, u.Name, u.Email))
		if err != nil || isDryRun(ctx) {
			return nil, err
		}
		hash, err := s.passwords.hash(ctx, s.random, pass)
		if err != nil {
			return nil, err
		}
		p.PassHash = &hash
	}
	var next *directory.User
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		place, _ := o.users.get(id)
		old := place.now.Load()
		patched, event, err := old.record.Patch(p)
		err = directory.Join(err, o.actsAs(op, asked(p.Partner)))
		if next = patched; err != nil || event.Name == "" {
			return nil, nil, err
		}
		return &posting.Change{Steps: []posting.Step{step(org, old.stamp.Version, encodeUser(next), event)}}, next, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putUser(next, stamps[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// asked returns the partner that a change of a user names; 0 if it names none.
func asked(partner *int64) int64 {
	if partner == nil {
		return 0
	}
	return *partner
}

// actsAs checks that the partner whom a user is to act for exists in the organization; 0 means no
// partner.
func (o *org) actsAs(op string, partner int64) error {
	if partner == 0 {
		return nil
	}
	if _, ok := o.partner(partner); !ok {
		return ledger.RefuseField(op, "partner_id", "no such partner")
	}
	return nil
}

// putUser publishes a durable user.
func (o *org) putUser(u *directory.User, stamp posting.Stamp) {
	u.Created = stamp.Started
	o.users.put(u.ID, u, stamp)
	o.logins.Store(u.Login, u.ID)
}
