package directory

import (
	"context"
	"crypto/subtle"
	"net/netip"
	"slices"

	"github.com/google/uuid"

	"mizan/actors/directory/logins"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// MaxSessions is the maximum number of live sessions of one user or partner. A login that exceeds this number ends the oldest
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

// newSession completes the draft of a session with data of the user's or partner's current record. If this record has changed
// and the password that was checked may no longer be valid, it returns false.
func (a *loginAccount) newSession(draft directory.Session, now ledger.Micros) (*directory.Session, ledger.Event, bool) {
	if a.user != nil {
		c, _ := a.org.users.get(a.user.ID)
		u := c.record()
		n, event := u.BeginSession(draft, now)
		return n, event, u.Active && u.Epoch == a.user.Epoch
	}
	c, _ := a.org.partners.get(a.partner.ID)
	p := c.record()
	n, event := p.BeginSession(draft, now)
	return n, event, p.Active && p.Epoch == a.partner.Epoch
}

// author returns the account's user or partner as the author of the login.
func (a *loginAccount) author() ledger.Author {
	if a.user != nil {
		return ledger.Author{Kind: ledger.BySession, Seq: a.user.FirstSeq}
	}
	return ledger.Author{Kind: ledger.BySession, Seq: a.partner.FirstSeq}
}

func (s *Service) beginSession(ctx context.Context, account *loginAccount, l *Login) (*directory.Session, secret.Text, error) {
	const op = "directory.LogIn"
	org := account.org.id
	token := secret.NewToken(directory.SessionPrefix, s.random)
	draft := directory.Session{ID: uuid.New(), Hash: secret.HashToken([]byte(token)), Console: l.Console, Source: addressText(l.Source)}
	failures := account.org.loginLog.FailuresOf(l.Login)
	draft.Failures, draft.FailedAt, draft.FailedFrom = failures.Count, failures.At, addressText(failures.Source)
	var created, ended *directory.Session
	err := s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.orgs.get(org)
		account.org = o
		if !o.ownRecord.record().Active() {
			return nil, unauthorized()
		}
		n, event, stillValid := account.newSession(draft, now)
		if !stillValid {
			return nil, unauthorized()
		}
		created = n
		change := &posting.Change{
			Author: account.author(),
			Steps:  []posting.Step{stepWithoutSecrets(directory.Sessions, org, 0, n, event)},
			Claims: []ledger.Claim{hashClaim(org, n.Hash, n.ID)},
		}
		if oldest := o.makeRoom(n, now); oldest != nil {
			old := oldest.current.Load()
			ended, event = old.record.Revoke(now)
			change.Steps = append(change.Steps, stepWithoutSecrets(directory.Sessions, org, old.header.Version, ended, event))
		}
		return change, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		o.putSession(created, headers[0])
		if ended != nil {
			o.endSession(ended, headers[1])
		}
	})
	if err != nil {
		return nil, "", err
	}
	return created, secret.Text(token), nil
}

// addressText returns an address in the text form in which sessions store it. If the address is not known, the text is empty.
func addressText(address netip.Addr) string {
	if !address.IsValid() {
		return ""
	}
	return address.String()
}

// LogOut ends the session. When LogOut returns, the session is already refused. If the session is already over, nothing
// changes. The error is a *ledger.Refusal.
func (s *Service) LogOut(ctx context.Context, n *directory.Session) error {
	var ended *directory.Session
	return s.run(ctx, n.Org, "directory.LogOut", func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.orgs.get(n.Org)
		inView, ok := o.session(n.Hash)
		if !ok {
			return nil, nil
		}
		old := inView.current.Load()
		var event ledger.Event
		ended, event = old.record.Revoke(now)
		return &posting.Change{Author: n.Author(), Steps: []posting.Step{stepWithoutSecrets(directory.Sessions, n.Org, old.header.Version, ended, event)}}, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(n.Org)
		o.endSession(ended, headers[0])
	})
}

// Session finds a session of the API by its token inside the organization. The call counts as a use of the session. Like in
// Authenticate, the work is the same whether or not the session is found.
func (s *Service) Session(id ledger.ID, token []byte, now ledger.Micros) (*directory.Session, bool) {
	return s.useSession(id, token, now, false)
}

// ConsoleSession is like Session, but for a session of the console.
func (s *Service) ConsoleSession(id ledger.ID, token []byte, now ledger.Micros) (*directory.Session, bool) {
	return s.useSession(id, token, now, true)
}

// useSession finds a session of the console or of the API, and records that the session was used.
func (s *Service) useSession(id ledger.ID, token []byte, now ledger.Micros, console bool) (*directory.Session, bool) {
	inView, n, ok := s.sessionInForce(id, token, now, console)
	if !ok {
		return nil, false
	}
	for last := inView.lastUsedAt.Load(); last < int64(now) && !inView.lastUsedAt.CompareAndSwap(last, int64(now)); last = inView.lastUsedAt.Load() {
	}
	s.recordSessionUse(inView, n, now)
	return n, true
}

// SessionInForce finds a session like Session, but the call does not count as a use of the session.
func (s *Service) SessionInForce(id ledger.ID, token []byte) (*directory.Session, bool) {
	_, n, ok := s.sessionInForce(id, token, ledger.MicrosOf(s.rt.Clock.Now()), false)
	return n, ok
}

func (s *Service) sessionInForce(id ledger.ID, token []byte, now ledger.Micros, console bool) (*viewRecord[directory.Session], *directory.Session, bool) {
	hash := secret.HashToken(token)
	o, known := s.org(id)
	if !known {
		o = s.absentOrganization
	}
	n, used := noSession, ledger.Micros(0)
	inView, found := o.session(hash)
	if found {
		n, used = inView.record(), ledger.Micros(inView.lastUsedAt.Load())
	}
	hashMatches := subtle.ConstantTimeCompare(hash[:], n.Hash[:]) == 1
	valid, currentEpoch, idle, active := n.IsValid(now), o.inCurrentEpoch(n), n.IdleTooLong(used, now), o.ownRecord.record().Active()
	if !(known && found && hashMatches && n.Console == console && valid && currentEpoch && !idle && active) {
		return nil, nil, false
	}
	return inView, n, true
}

// inCurrentEpoch tells whether the session was begun in the current epoch of its user or partner. A new password, for example,
// starts a new epoch.
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

// sessionOver tells whether a session can never be used again. c must be the viewRecord in the view, because the session's
// latest use may be recorded only there.
func (o *organization) sessionOver(c *viewRecord[directory.Session], now ledger.Micros) bool {
	n := c.record()
	return !n.IsValid(now) || !o.inCurrentEpoch(n) || n.IdleTooLong(ledger.Micros(c.lastUsedAt.Load()), now)
}

func (o *organization) session(hash [32]byte) (*viewRecord[directory.Session], bool) {
	c, ok := o.sessionHashes.Load(hash)
	if !ok {
		return nil, false
	}
	return c.(*viewRecord[directory.Session]), true
}

// putSession publishes a durable session. Sessions are not in an index, because an index never drops a record. A session that
// is over is dropped from the view (the records in memory) and stays only in the store.
func (o *organization) putSession(n *directory.Session, header posting.RecordHeader) {
	n.CreatedAt = header.StartedAt
	o.putAuthor(n, header)
	if c, ok := o.session(n.Hash); ok {
		c.set(n, header)
		return
	}
	c := new(viewRecord[directory.Session])
	c.set(n, header)
	if n.Epoch != 0 {
		if o.sessionsByOwner == nil {
			o.sessionsByOwner = make(sessionsByOwner)
		}
		o.sessionsByOwner[ownerOf(n)] = append(o.sessionsByOwner[ownerOf(n)], c)
	}
	o.sessionHashes.Store(n.Hash, c)
}

// putAuthor sets AuthorSeq, which identifies the author of the events that the session's requests cause. AuthorSeq is the
// FirstSeq of the user or partner who logged in. If no login began the session, it is the FirstSeq of the session itself. The
// user or partner must be in the view before the session.
func (o *organization) putAuthor(n *directory.Session, header posting.RecordHeader) {
	n.AuthorSeq = header.FirstSeq
	if n.Epoch == 0 {
		return
	}
	if u, found := o.users.get(n.User); found {
		n.AuthorSeq = u.record().FirstSeq
	} else if p, found := o.partner(n.Partner); found {
		n.AuthorSeq = p.record().FirstSeq
	}
}

// endSession publishes that a session is revoked. A request that has already found the session sees the revocation, and later
// requests do not find the session.
func (o *organization) endSession(n *directory.Session, header posting.RecordHeader) {
	n.CreatedAt = header.StartedAt
	o.putAuthor(n, header)
	c, ok := o.session(n.Hash)
	if !ok {
		return
	}
	c.set(n, header)
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

// readSessions returns the stored sessions that are not over. Users and partners must already be in the view. For every session
// that was begun by a login, even if the session is over, readSessions passes the login to newest.Offer.
func (o *organization) readSessions(v *posting.View, now ledger.Micros, newest *logins.Newest) ([]storedRecord[directory.Session], error) {
	return readKind(v, o.id, ledger.Session, readSession, func(n *directory.Session) bool {
		if n.Epoch != 0 {
			newest.Offer(o.successOf(n))
		}
		return n.IsValid(now) && o.inCurrentEpoch(n) && !n.IdleTooLong(0, now)
	})
}

// successOf returns the login attempt that began the session.
func (o *organization) successOf(n *directory.Session) logins.Attempt {
	a := logins.Attempt{At: n.CreatedAt, Outcome: logins.Succeeded, User: n.User, Console: n.Console}
	a.Source, _ = netip.ParseAddr(n.Source) // the zero address if the session has none
	if c, ok := o.users.get(n.User); ok {
		a.Login = c.record().Login
	} else if c, ok := o.partner(n.Partner); ok {
		a.Login, a.Partner = c.record().Login, n.Partner
	}
	return a
}

func readSession(at schema.RowMetadata, payload []byte) (*directory.Session, error) {
	return directory.Sessions.Read(at, payload, nil)
}

// loadSessions publishes the live sessions at start. It does not load sessions that are over,
// because their number grows every day.
func (o *organization) loadSessions(v *posting.View, now ledger.Micros) error {
	var newest logins.Newest
	live, err := o.readSessions(v, now, &newest)
	if err != nil {
		return err
	}
	newest.AddTo(&o.loginLog)
	for _, n := range live {
		o.putSession(n.record, n.header)
	}
	return nil
}

// makeRoom drops the sessions of the new session's owner that are over. If the owner still has MaxSessions live sessions,
// makeRoom returns the oldest one, which must be ended. Otherwise it returns nil.
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

// newUnownedSession makes a session that belongs to no user or partner and never expires. It also returns the session's token.
func (s *Service) newUnownedSession(org ledger.ID, role directory.Role) (*directory.Session, ledger.Event, string) {
	token := secret.NewToken(directory.SessionPrefix, s.random)
	n, event := directory.NewSession(uuid.New(), org, secret.HashToken([]byte(token)), role)
	return n, event, token
}

// OwnSessions returns all live sessions of the person who began the session n, newest first, each with the time of its last
// use. If n was not begun by a login, it returns only n. The error is a *ledger.Refusal.
func (s *Service) OwnSessions(ctx context.Context, n *directory.Session) (sessions []directory.Session, err error) {
	err = s.run(ctx, n.Org, "directory.OwnSessions", func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.orgs.get(n.Org)
		for _, c := range o.ownedWith(n) {
			if !o.sessionOver(c, now) {
				record := *c.record()
				record.LastUsedAt = max(record.LastUsedAt, ledger.Micros(c.lastUsedAt.Load()))
				sessions = append(sessions, record)
			}
		}
		slices.Reverse(sessions)
		return nil, nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return sessions, nil
}

// ownedWith returns the sessions in memory that belong to the owner of the session n, oldest first. Only the organization's
// actor may call ownedWith.
func (o *organization) ownedWith(n *directory.Session) []*viewRecord[directory.Session] {
	if n.Epoch != 0 {
		return o.sessionsByOwner[ownerOf(n)]
	}
	if c, ok := o.session(n.Hash); ok {
		return []*viewRecord[directory.Session]{c}
	}
	return nil
}

// EndOwnSessions ends those sessions of the person who began the session n for which the function choose returns true. It
// returns the number of sessions that it has ended. When it returns, these sessions are already refused. The error is a
// *ledger.Refusal.
func (s *Service) EndOwnSessions(ctx context.Context, n *directory.Session, choose func(*directory.Session) bool) (count int, err error) {
	var ended []*directory.Session
	err = s.run(ctx, n.Org, "directory.EndOwnSessions", func(now ledger.Micros) (*posting.Change, error) {
		o, _ := s.orgs.get(n.Org)
		change := posting.Change{Author: n.Author()}
		for _, c := range o.ownedWith(n) {
			old := c.current.Load()
			if !choose(old.record) || o.sessionOver(c, now) {
				continue
			}
			next, event := old.record.Revoke(now)
			ended = append(ended, next)
			change.Steps = append(change.Steps, stepWithoutSecrets(directory.Sessions, n.Org, old.header.Version, next, event))
		}
		if len(ended) == 0 {
			return nil, nil
		}
		return &change, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(n.Org)
		for i, session := range ended {
			o.endSession(session, headers[i])
		}
	})
	if err != nil {
		return 0, err
	}
	return len(ended), nil
}
