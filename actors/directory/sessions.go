package directory

import (
	"context"
	"crypto/subtle"
	"net/netip"
	"slices"
	"sync"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// MaxSessions bounds the live sessions of one user or partner: a login beyond that number ends the oldest
// session.
const MaxSessions = 100

// sessionsByOwner holds, for each owner, the sessions that a login has begun, oldest first. Only the
// organization's actor uses this map.
type sessionsByOwner map[owner][]*viewRecord[directory.Session]

// owner identifies who began a session: a user or, if there is no user, a partner.
type owner struct {
	user    ledger.ID
	partner int64
}

func ownerOf(n *directory.Session) owner {
	if n.User != (ledger.ID{}) {
		return owner{user: n.User}
	}
	return owner{partner: n.Partner}
}

// Login is an attempt to log in.
type Login struct {
	Org    ledger.ID // the organization may not exist
	Login  string
	Pass   []byte     // not kept
	Source netip.Addr // the address that the request comes from
}

// LogIn checks the login and password of a user or partner, begins a session and returns its token,
// which is stored nowhere. Every failure is Unauthorized, after the same work, with one exception: the
// right password of a partner that is switched off is Forbidden. If the request comes from an address
// from which the partner may not log in, every password counts as wrong: even the right one costs the
// same work, counts as a failure and gets the same response. The error is a *ledger.Refusal, a
// *LockedOut or ErrCrowded.
func (s *Service) LogIn(ctx context.Context, l Login) (*directory.Session, secret.Text, error) {
	key := loginKey(l.Org, l.Login)
	if err := s.lockout.check(s.rt.Clock, key); err != nil {
		return nil, "", err // at once: a login that is locked out takes no place to hash
	}
	place, err := s.hashing.enter(ctx, l.Source)
	if err != nil {
		return nil, "", err
	}
	leave := sync.OnceFunc(place.Leave)
	defer leave()
	end, err := s.lockout.enter(ctx, s.rt.Clock, key)
	if err != nil {
		return nil, "", err
	}
	failed := false
	defer func() { end(failed) }()
	account, hash := s.person(l.Org, l.Login)
	passMatches := s.passwords.verify(hash, l.Pass)
	leave()
	sourceAllowed := account.mayLogInFrom(l.Source)
	if failed = !passMatches || !sourceAllowed || !account.mayLogIn(); failed {
		return nil, "", unauthorized()
	}
	if account.partnerInactive() {
		return nil, "", ledger.Refuse("directory.LogIn", ledger.Forbidden, "the partner is deactivated")
	}
	n, token, err := s.beginSession(ctx, &account)
	failed = codeOf(err) == ledger.Unauthorized
	return n, token, err
}

func unauthorized() error {
	return ledger.Refuse("directory.LogIn", ledger.Unauthorized, "unauthorized")
}

// loginAccount is the account that a login belongs to: a user, a partner, or a user whose only role is to
// act for a partner.
type loginAccount struct {
	org     *organization
	user    *directory.User
	partner *directory.Partner // the partner, if the account acts for that partner only; else nil
}

// person finds the account that a login belongs to, and the hash of its password. For an unknown
// login both are empty.
func (s *Service) person(id ledger.ID, login string) (loginAccount, string) {
	o, ok := s.org(id)
	if !ok {
		return loginAccount{}, ""
	}
	record, _ := o.logins.Load(login)
	userOrPartner, _ := record.(ledger.ID)
	if c, ok := o.users.get(userOrPartner); ok {
		found := loginAccount{org: o, user: c.record()}
		if only := found.user.Roles; len(only) == 1 && only[0] == directory.PartnerRole {
			if p, ok := o.partner(found.user.Partner); ok {
				found.partner = p.record()
			}
		}
		return found, found.user.PassHash
	}
	if c, ok := o.partners.get(userOrPartner); ok {
		p := c.record()
		return loginAccount{org: o, partner: p}, p.PassHash
	}
	return loginAccount{}, ""
}

// mayLogIn tells whether the account may begin a session with the right password. If not, the refusal must
// look like the refusal of a wrong password.
func (a *loginAccount) mayLogIn() bool {
	return a.org != nil && a.org.ownRecord.record().Active() && (a.user == nil || a.user.Active)
}

// mayLogInFrom tells whether the account may log in from the address.
func (a *loginAccount) mayLogInFrom(source netip.Addr) bool {
	return a.partner == nil || a.partner.Admits(source)
}

// partnerInactive tells whether the account acts only for a partner that is switched off.
func (a *loginAccount) partnerInactive() bool { return a.partner != nil && !a.partner.Active }

// newSession makes a session from the current record of the account's user or partner. It returns false if the
// record has changed so that the checked password no longer applies.
func (a *loginAccount) newSession(hash [32]byte, now ledger.Micros) (*directory.Session, ledger.Event, bool) {
	id := uuid.New()
	if a.user != nil {
		c, _ := a.org.users.get(a.user.ID)
		u := c.record()
		n, event := u.BeginSession(id, hash, now)
		return n, event, u.Active && u.Epoch == a.user.Epoch
	}
	c, _ := a.org.partners.get(a.partner.ID)
	p := c.record()
	n, event := p.BeginSession(id, hash, now)
	return n, event, p.Active && p.Epoch == a.partner.Epoch
}

func (s *Service) beginSession(ctx context.Context, account *loginAccount) (*directory.Session, secret.Text, error) {
	const op = "directory.LogIn"
	org := account.org.id
	token := secret.NewToken(sessionPrefix, s.random)
	hash := secret.HashToken([]byte(token))
	var created, ended *directory.Session
	err := s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.org(org)
		account.org = o
		if !o.ownRecord.record().Active() {
			return nil, unauthorized()
		}
		n, event, stillValid := account.newSession(hash, now)
		if !stillValid {
			return nil, unauthorized()
		}
		created = n
		change := &posting.Change{
			Steps:  []posting.Step{stepWithoutSecrets(directory.Sessions, org, 0, n, event)},
			Claims: []ledger.Claim{hashClaim(org, n.Hash, n.ID)},
		}
		if oldest := o.makeRoom(n, now); oldest != nil {
			old := oldest.now.Load()
			ended, event = old.record.Revoke(now)
			change.Steps = append(change.Steps, stepWithoutSecrets(directory.Sessions, org, old.stamp.Version, ended, event))
		}
		return change, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putSession(created, stamps[0])
		if ended != nil {
			o.endSession(ended, stamps[1])
		}
	})
	if err != nil {
		return nil, "", err
	}
	return created, secret.Text(token), nil
}

// LogOut ends the session. When LogOut returns, the session is already refused. A session that was over before
// stays as it is. The error is a *ledger.Refusal.
func (s *Service) LogOut(ctx context.Context, n *directory.Session) error {
	var ended *directory.Session
	return s.run(ctx, n.Org, "directory.LogOut", func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.org(n.Org)
		inView, ok := o.session(n.Hash)
		if !ok {
			return nil, nil
		}
		old := inView.now.Load()
		var event ledger.Event
		ended, event = old.record.Revoke(now)
		return &posting.Change{Steps: []posting.Step{stepWithoutSecrets(directory.Sessions, n.Org, old.stamp.Version, ended, event)}}, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(n.Org)
		o.endSession(ended, stamps[0])
	})
}

// Session finds a session by its token inside the organization. The call counts as a use of the session.
// As in Authenticate, the work is the same whether or not the session is found.
func (s *Service) Session(id ledger.ID, token []byte, now ledger.Micros) (*directory.Session, bool) {
	inView, n, ok := s.sessionInForce(id, token, now)
	if !ok {
		return nil, false
	}
	for last := inView.used.Load(); last < int64(now) && !inView.used.CompareAndSwap(last, int64(now)); last = inView.used.Load() {
	}
	s.recordSessionUse(inView, n, now)
	return n, true
}

// SessionInForce finds a session as Session does, but the call does not count as a use of the session.
func (s *Service) SessionInForce(id ledger.ID, token []byte) (*directory.Session, bool) {
	_, n, ok := s.sessionInForce(id, token, ledger.MicrosOf(s.rt.Clock.Now()))
	return n, ok
}

func (s *Service) sessionInForce(id ledger.ID, token []byte, now ledger.Micros) (*viewRecord[directory.Session], *directory.Session, bool) {
	hash := secret.HashToken(token)
	o, known := s.org(id)
	if !known {
		o = s.decoy
	}
	n, used := noSession, ledger.Micros(0)
	inView, found := o.session(hash)
	if found {
		n, used = inView.record(), ledger.Micros(inView.used.Load())
	}
	hashMatches := subtle.ConstantTimeCompare(hash[:], n.Hash[:]) == 1
	valid, currentEpoch, idle, active := n.Valid(now), o.inCurrentEpoch(n), n.IdleTooLong(used, now), o.ownRecord.record().Active()
	if !(known && found && hashMatches && valid && currentEpoch && !idle && active) {
		return nil, nil, false
	}
	return inView, n, true
}

// inCurrentEpoch tells whether the session was begun in the current epoch of its user or partner: a new
// password, for example, starts a new epoch.
func (o *organization) inCurrentEpoch(n *directory.Session) bool {
	u, p := noUser, noPartner
	if c, ok := o.users.get(n.User); ok {
		u = c.record()
	}
	if c, ok := o.partner(n.Partner); ok {
		p = c.record()
	}
	return n.Epoch == 0 || u.AllowsSession(n) || p.AllowsSession(n)
}

// sessionOver tells whether a session can never be used again. c must be the viewRecord in the view
// itself, because the latest use may be in memory only.
func (o *organization) sessionOver(c *viewRecord[directory.Session], now ledger.Micros) bool {
	n := c.record()
	return !n.Valid(now) || !o.inCurrentEpoch(n) || n.IdleTooLong(ledger.Micros(c.used.Load()), now)
}

func (o *organization) session(hash [32]byte) (*viewRecord[directory.Session], bool) {
	c, ok := o.sessionHashes.Load(hash)
	if !ok {
		return nil, false
	}
	return c.(*viewRecord[directory.Session]), true
}

// putSession publishes a durable session. Sessions are not in an index, because an index never drops a
// record, but sessions that are over leave the view in memory. They stay in the store.
func (o *organization) putSession(n *directory.Session, stamp posting.Stamp) {
	n.Created = stamp.Started
	if c, ok := o.session(n.Hash); ok {
		c.set(n, stamp)
		return
	}
	c := new(viewRecord[directory.Session])
	c.set(n, stamp)
	if n.Epoch != 0 {
		if o.sessionsByOwner == nil {
			o.sessionsByOwner = make(sessionsByOwner)
		}
		o.sessionsByOwner[ownerOf(n)] = append(o.sessionsByOwner[ownerOf(n)], c)
	}
	o.sessionHashes.Store(n.Hash, c)
}

// endSession publishes a revoked session: a request that has already found the session sees the
// revocation, and later requests do not find the session.
func (o *organization) endSession(n *directory.Session, stamp posting.Stamp) {
	n.Created = stamp.Started
	c, ok := o.session(n.Hash)
	if !ok {
		return
	}
	c.set(n, stamp)
	o.drop(c)
	owner := ownerOf(n)
	remaining := slices.DeleteFunc(o.sessionsByOwner[owner], func(other *viewRecord[directory.Session]) bool { return other == c })
	if len(remaining) == 0 {
		delete(o.sessionsByOwner, owner)
		return
	}
	o.sessionsByOwner[owner] = remaining
}

func (o *organization) drop(c *viewRecord[directory.Session]) {
	o.sessionHashes.Delete(c.record().Hash)
}

// readSessions reads from the store the sessions that are not over. Users and partners must already be
// in the view.
func (o *organization) readSessions(v *posting.View, now ledger.Micros) ([]storedRecord[directory.Session], error) {
	return readKind(v, o.id, ledger.Session, readSession, func(n *directory.Session) bool {
		return n.Valid(now) && o.inCurrentEpoch(n) && !n.IdleTooLong(0, now)
	})
}

func readSession(at schema.Envelope, payload []byte) (*directory.Session, error) {
	return directory.Sessions.Read(at, payload, nil)
}

// loadSessions publishes the live sessions at start. It does not load sessions that are over,
// because their number grows every day.
func (o *organization) loadSessions(v *posting.View, now ledger.Micros) error {
	live, err := o.readSessions(v, now)
	if err != nil {
		return err
	}
	for _, n := range live {
		o.putSession(n.record, n.stamp)
	}
	return nil
}

// makeRoom drops those sessions of the new session's owner that are over. If the owner still has MaxSessions
// live sessions, makeRoom returns the oldest, which must end; else nil.
func (o *organization) makeRoom(n *directory.Session, now ledger.Micros) *viewRecord[directory.Session] {
	owner := ownerOf(n)
	live := slices.DeleteFunc(o.sessionsByOwner[owner], func(c *viewRecord[directory.Session]) bool {
		over := o.sessionOver(c, now)
		if over {
			o.drop(c)
		}
		return over
	})
	if len(live) > 0 {
		o.sessionsByOwner[owner] = live
	} else {
		delete(o.sessionsByOwner, owner)
	}
	if len(live) < MaxSessions {
		return nil
	}
	return live[0]
}

// newUnownedSession makes a session that belongs to no user or partner and never expires, and returns its token
// too.
func (s *Service) newUnownedSession(org ledger.ID, role directory.Role) (*directory.Session, ledger.Event, string) {
	token := secret.NewToken(sessionPrefix, s.random)
	n, event := directory.NewSession(uuid.New(), org, secret.HashToken([]byte(token)), role)
	return n, event, token
}
