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
	"mizan/posting"
)

// MaxSessions bounds the live sessions of one user or partner: a login beyond it
// ends the oldest of them.
const MaxSessions = 100

// begun are the sessions that somebody has logged in to, by who did, oldest
// first. It is the organization's actor's own.
type begun map[owner][]*cell[directory.Session]

// owner is who began a session: a user or, without one, a partner.
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
	Org    ledger.ID // also one that nobody has
	Login  string
	Pass   []byte     // not kept
	Source netip.Addr // where the request comes from
}

// LogIn begins a session of the user or the partner whose login and password are
// right, and returns its token, which is kept nowhere. Everything that is wrong
// is Unauthorized, after the same work, but for a partner that is switched off
// and whose password is right: Forbidden. From an address that is not the partner's
// every password is wrong: a right one costs, counts and is answered as others are.
// The error is a *ledger.Refusal, a *LockedOut or ErrCrowded.
func (s *Service) LogIn(ctx context.Context, l Login) (*directory.Session, secret.Text, error) {
	key := loginKey(l.Org, l.Login)
	if err := s.lockout.check(s.rt.Clock, key); err != nil {
		return nil, "", err // at once: it needs no place
	}
	place, err := s.attempts.enter(ctx, l.Source)
	if err != nil {
		return nil, "", err
	}
	leave := sync.OnceFunc(place.Leave)
	defer leave()
	ended, err := s.lockout.enter(ctx, s.rt.Clock, key)
	if err != nil {
		return nil, "", err
	}
	wrong := false
	defer func() { ended(wrong) }()
	who, hash := s.person(l.Org, l.Login)
	right := s.passwords.verify(hash, l.Pass)
	leave()
	admitted := who.comesFrom(l.Source)
	if wrong = !right || !admitted || !who.mayEnter(); wrong {
		return nil, "", unauthorized()
	}
	if who.dismissed() {
		return nil, "", ledger.Refuse("directory.LogIn", ledger.Forbidden, "the partner is deactivated")
	}
	n, token, err := s.beginSession(ctx, &who)
	wrong = codeOf(err) == ledger.Unauthorized
	return n, token, err
}

func unauthorized() error {
	return ledger.Refuse("directory.LogIn", ledger.Unauthorized, "unauthorized")
}

// person is whoever a login belongs to: a user, a partner, or a user who is
// nothing but a partner's.
type person struct {
	org     *org
	user    *directory.User
	partner *directory.Partner // that it acts as, and as nothing else; nil: none
}

// person finds whom a login belongs to, and the hash of the password; nobody and
// no hash where there is no one.
func (s *Service) person(id ledger.ID, login string) (person, string) {
	o, ok := s.org(id)
	if !ok {
		return person{}, ""
	}
	record, _ := o.logins.Load(login)
	who, _ := record.(ledger.ID)
	if c, ok := o.users.get(who); ok {
		found := person{org: o, user: c.record()}
		if only := found.user.Roles; len(only) == 1 && only[0] == directory.PartnerRole {
			if p, ok := o.partner(found.user.Partner); ok {
				found.partner = p.record()
			}
		}
		return found, found.user.PassHash
	}
	if c, ok := o.partners.get(who); ok {
		p := c.record()
		return person{org: o, partner: p}, p.PassHash
	}
	return person{}, ""
}

// mayEnter tells whether a person with the right password gets a session, as far
// as others may not learn why.
func (w *person) mayEnter() bool {
	return w.org != nil && w.org.self.record().Active() && (w.user == nil || w.user.Active)
}

// comesFrom tells whether the person may log in from the address.
func (w *person) comesFrom(source netip.Addr) bool {
	return w.partner == nil || w.partner.Admits(source)
}

// dismissed tells that all the person may be is a partner that is switched off.
func (w *person) dismissed() bool { return w.partner != nil && !w.partner.Active }

// session decides the session's beginning, by the person's record as it stands:
// false if that is not any more what the password was right for.
func (w *person) session(hash [32]byte, now ledger.Micros) (*directory.Session, ledger.Event, bool) {
	id := uuid.New()
	if w.user != nil {
		c, _ := w.org.users.get(w.user.ID)
		u := c.record()
		n, event := u.Begin(id, hash, now)
		return n, event, u.Active && u.Epoch == w.user.Epoch
	}
	c, _ := w.org.partners.get(w.partner.ID)
	p := c.record()
	n, event := p.Begin(id, hash, now)
	return n, event, p.Active && p.Epoch == w.partner.Epoch
}

func (s *Service) beginSession(ctx context.Context, who *person) (*directory.Session, secret.Text, error) {
	const op = "directory.LogIn"
	org := who.org.id
	token := secret.NewToken(sessionPrefix, s.random)
	hash := secret.HashToken([]byte(token))
	var created, ended *directory.Session
	err := s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.org(org)
		who.org = o
		if !o.self.record().Active() {
			return nil, unauthorized()
		}
		n, event, still := who.session(hash, now)
		if !still {
			return nil, unauthorized()
		}
		created = n
		change := &posting.Change{
			Steps:  []posting.Step{step(org, 0, encodeSession(n), event)},
			Claims: []ledger.Claim{hashClaim(org, n.Hash, n.ID)},
		}
		if oldest := o.makeRoom(n, now); oldest != nil {
			old := oldest.now.Load()
			ended, event = old.record.Revoke(now)
			change.Steps = append(change.Steps, step(org, old.stamp.Version, encodeSession(ended), event))
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

// LogOut ends the session, from before it returns. One that is over already
// stays so. The error is a *ledger.Refusal.
func (s *Service) LogOut(ctx context.Context, n *directory.Session) error {
	var ended *directory.Session
	return s.run(ctx, n.Org, "directory.LogOut", func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.org(n.Org)
		place, ok := o.session(n.Hash)
		if !ok {
			return nil, nil
		}
		old := place.now.Load()
		var event ledger.Event
		ended, event = old.record.Revoke(now)
		return &posting.Change{Steps: []posting.Step{step(n.Org, old.stamp.Version, encodeSession(ended), event)}}, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(n.Org)
		o.endSession(ended, stamps[0])
	})
}

// Session finds a session by its token inside the organization, with
// Authenticate's care, and counts as a use of it.
func (s *Service) Session(id ledger.ID, token []byte, now ledger.Micros) (*directory.Session, bool) {
	place, n, ok := s.sessionInForce(id, token, now)
	if !ok {
		return nil, false
	}
	for last := place.used.Load(); last < int64(now) && !place.used.CompareAndSwap(last, int64(now)); last = place.used.Load() {
	}
	s.noteSession(place, n, now)
	return n, true
}

// SessionInForce finds a session as Session does, but does not count as a use.
func (s *Service) SessionInForce(id ledger.ID, token []byte) (*directory.Session, bool) {
	_, n, ok := s.sessionInForce(id, token, ledger.MicrosOf(s.rt.Clock.Now()))
	return n, ok
}

func (s *Service) sessionInForce(id ledger.ID, token []byte, now ledger.Micros) (*cell[directory.Session], *directory.Session, bool) {
	hash := secret.HashToken(token)
	o, known := s.org(id)
	if !known {
		o = s.decoy
	}
	n, used := noSession, ledger.Micros(0)
	place, found := o.session(hash)
	if found {
		n, used = place.record(), ledger.Micros(place.used.Load())
	}
	same := subtle.ConstantTimeCompare(hash[:], n.Hash[:]) == 1
	valid, begun, rested, active := n.Valid(now), o.begunAs(n), n.Rested(used, now), o.self.record().Active()
	if !(known && found && same && valid && begun && !rested && active) {
		return nil, nil, false
	}
	return place, n, true
}

// begunAs tells whether who began the session still is who it was then.
func (o *org) begunAs(n *directory.Session) bool {
	u, p := noUser, noPartner
	if c, ok := o.users.get(n.User); ok {
		u = c.record()
	}
	if c, ok := o.partner(n.Partner); ok {
		p = c.record()
	}
	return n.Epoch == 0 || u.Begun(n) || p.Begun(n)
}

// over tells whether a session can never be taken again. The last use that only
// memory knows of has to be in its cell.
func (o *org) over(c *cell[directory.Session], now ledger.Micros) bool {
	n := c.record()
	return !n.Valid(now) || !o.begunAs(n) || n.Rested(ledger.Micros(c.used.Load()), now)
}

func (o *org) session(hash [32]byte) (*cell[directory.Session], bool) {
	c, ok := o.sessionHashes.Load(hash)
	if !ok {
		return nil, false
	}
	return c.(*cell[directory.Session]), true
}

// putSession publishes a durable session. Sessions are in no list: those that are
// over are dropped from the view, and stay in the store.
func (o *org) putSession(n *directory.Session, stamp posting.Stamp) {
	n.Created = stamp.Started
	if c, ok := o.session(n.Hash); ok {
		c.set(n, stamp)
		return
	}
	c := new(cell[directory.Session])
	c.set(n, stamp)
	if n.Epoch != 0 {
		if o.begun == nil {
			o.begun = make(begun)
		}
		o.begun[ownerOf(n)] = append(o.begun[ownerOf(n)], c)
	}
	o.sessionHashes.Store(n.Hash, c)
}

// endSession publishes a session that was revoked: whoever has found it sees it,
// and nobody finds it any more.
func (o *org) endSession(n *directory.Session, stamp posting.Stamp) {
	n.Created = stamp.Started
	c, ok := o.session(n.Hash)
	if !ok {
		return
	}
	c.set(n, stamp)
	o.drop(c)
	whose := ownerOf(n)
	left := slices.DeleteFunc(o.begun[whose], func(other *cell[directory.Session]) bool { return other == c })
	if len(left) == 0 {
		delete(o.begun, whose)
		return
	}
	o.begun[whose] = left
}

func (o *org) drop(c *cell[directory.Session]) { o.sessionHashes.Delete(c.record().Hash) }

// readSessions is what the store has of the sessions that are not over. The users
// and partners have to be in the view.
func (o *org) readSessions(v *posting.View, now ledger.Micros) ([]read[directory.Session], error) {
	return readKind(v, o.id, ledger.Session, decodeSession, func(n *directory.Session) bool {
		return n.Valid(now) && o.begunAs(n) && !n.Rested(0, now)
	})
}

// loadSessions publishes what a start finds. What is over is left out as it is
// read: there will be more of it every day.
func (o *org) loadSessions(v *posting.View, now ledger.Micros) error {
	live, err := o.readSessions(v, now)
	if err != nil {
		return err
	}
	for _, n := range live {
		o.putSession(n.record, n.stamp)
	}
	return nil
}

// makeRoom drops what is over of the sessions of who begins another; the oldest
// of the others has to end if there are too many, else nil.
func (o *org) makeRoom(n *directory.Session, now ledger.Micros) *cell[directory.Session] {
	whose := ownerOf(n)
	live := slices.DeleteFunc(o.begun[whose], func(c *cell[directory.Session]) bool {
		over := o.over(c, now)
		if over {
			o.drop(c)
		}
		return over
	})
	if len(live) > 0 {
		o.begun[whose] = live
	} else {
		delete(o.begun, whose)
	}
	if len(live) < MaxSessions {
		return nil
	}
	return live[0]
}

// newSession makes a session that is nobody's and whose token never expires, and
// the token.
func (s *Service) newSession(org ledger.ID, role directory.Role) (*directory.Session, ledger.Event, string) {
	token := secret.NewToken(sessionPrefix, s.random)
	n, event := directory.NewSession(uuid.New(), org, secret.HashToken([]byte(token)), role)
	return n, event, token
}
