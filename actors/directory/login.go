package directory

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"

	"mizan/actors/directory/logins"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Login is an attempt to log in.
type Login struct {
	Org    ledger.ID // an organization, which need not exist
	Login  string
	Pass   []byte     // the password; LogIn does not keep it
	Source netip.Addr // the address that the request comes from

	Console bool // the attempt was made at the console; the API does not accept its session
}

// LogIn checks the login and password of a user or partner, and begins a session. It returns the session's token, which is
// stored nowhere. Every failure takes the same work and is Unauthorized. The only exception is the right password of a partner
// that is switched off, which is Forbidden. If the request comes from an address from which the partner may not log in, every
// password counts as wrong: even the right one costs the same work, counts as a failure and gets the same response. The error
// is a *ledger.Refusal, a *LockedOut or ErrCrowded.
func (s *Service) LogIn(ctx context.Context, l Login) (*directory.Session, secret.Text, error) {
	var session *directory.Session
	var token secret.Text
	err := s.checkPassword(ctx, &l, func(account *loginAccount) (err error) {
		if account.partnerInactive() {
			s.recordLogin(&l, logins.Deactivated)
			return ledger.Refuse("directory.LogIn", ledger.Forbidden, "the partner is deactivated")
		}
		session, token, err = s.beginSession(ctx, account, &l)
		if err == nil {
			s.recordLogin(&l, logins.Succeeded)
		}
		return err
	})
	return session, token, err
}

// checkPassword checks the login and its password. If they are right, it calls the function then. It returns the same errors as
// LogIn. An attempt that ends in Unauthorized counts as a failure of the login, even if the error comes from the function then.
func (s *Service) checkPassword(ctx context.Context, l *Login, then func(*loginAccount) error) error {
	key := loginKey(l.Org, l.Login)
	if err := s.lockout.check(s.rt.Clock, key); err != nil {
		s.recordLogin(l, logins.LockedOut)
		return err // an attempt for a login that is locked out must not take a place to hash
	}
	place, err := s.hashing.enter(ctx, l.Source)
	if err != nil {
		return err
	}
	leave := sync.OnceFunc(place.Leave)
	defer leave()
	end, err := s.lockout.enter(ctx, s.rt.Clock, key)
	if err != nil {
		var locked *LockedOut
		if errors.As(err, &locked) {
			s.recordLogin(l, logins.LockedOut)
		}
		return err
	}
	failed := false
	defer func() {
		if end(failed); failed {
			s.recordLogin(l, logins.Failed)
		}
	}()
	account, hash := s.findAccount(l.Org, l.Login)
	passMatches := s.passwords.verify(hash, l.Pass)
	leave()
	sourceAllowed := account.mayLogInFrom(l.Source)
	if failed = !passMatches || !sourceAllowed || !account.mayLogIn(); failed {
		return unauthorized()
	}
	err = then(&account)
	failed = ledger.IsRefusal(err, ledger.Unauthorized)
	return err
}

// CheckOwnPassword checks the password of the person to whom the session n belongs. A wrong password counts as a failure of the
// login, like in LogIn. It returns the same errors as LogIn.
func (s *Service) CheckOwnPassword(ctx context.Context, n *directory.Session, pass []byte, source netip.Addr) error {
	login, ok := s.loginOf(n)
	if !ok {
		return ledger.Refuse("directory.CheckOwnPassword", ledger.Forbidden, "this session has no password")
	}
	return s.checkPassword(ctx, &Login{Org: n.Org, Login: login, Pass: pass, Source: source, Console: n.Console}, func(*loginAccount) error { return nil })
}

// loginOf returns the login of the person to whom the session belongs. If the session was not begun by a login, it returns
// false.
func (s *Service) loginOf(n *directory.Session) (login string, ok bool) {
	if n.Epoch == 0 {
		return "", false
	}
	if u, found := s.User(n.Org, n.User); found {
		return u.Login, true
	}
	if p, found := s.Partner(n.Org, n.Partner); found {
		return p.Login, true
	}
	return "", false
}

// recordLogin adds a login attempt to the organization's log. If the organization does not exist, it does nothing.
func (s *Service) recordLogin(l *Login, outcome logins.Outcome) {
	o, known := s.org(l.Org)
	if !known {
		return
	}
	a := logins.Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Outcome: outcome, Source: l.Source, Console: l.Console}
	if account, _ := s.findAccount(l.Org, l.Login); account.org != nil {
		a.Login, a.User, a.Partner = l.Login, account.userID(), account.ownNumber()
	}
	o.loginLog.Add(a)
}

// Logins returns the last attempts to log in to the organization, newest first, and at most limit of them. If before is not 0,
// the page contains only attempts whose number is smaller than before. The result more tells whether older attempts follow the
// page. After a restart, only the successful attempts are known.
func (s *Service) Logins(org ledger.ID, before uint64, limit int) (page []logins.Attempt, more bool) {
	o, known := s.org(org)
	if !known {
		return nil, false
	}
	return o.loginLog.Page(before, limit)
}

func unauthorized() error {
	return ledger.Refuse("directory.LogIn", ledger.Unauthorized, "unauthorized")
}

// loginAccount is the account that a login belongs to: a user, a partner, or a user whose only role is to
// act for a partner.
type loginAccount struct {
	org     *organization
	user    *directory.User
	partner *directory.Partner // the partner if the account acts for only this partner, and nil otherwise
}

// findAccount finds the account that a login belongs to, and the hash of its password. If the login is unknown, the account and
// the hash are empty.
func (s *Service) findAccount(id ledger.ID, login string) (loginAccount, string) {
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

// userID returns the id of the account's user, or zero if the account belongs to a partner itself.
func (a *loginAccount) userID() (id ledger.ID) {
	if a.user != nil {
		id = a.user.ID
	}
	return id
}

// ownNumber returns the number of the partner to which the account belongs, or 0 if the account belongs to a user.
func (a *loginAccount) ownNumber() int64 {
	if a.user != nil || a.partner == nil {
		return 0
	}
	return a.partner.Number
}

// mayLogIn tells whether the account may begin a session if the password is right. If it may not, the refusal must look like
// the refusal of a wrong password.
func (a *loginAccount) mayLogIn() bool {
	return a.org != nil && a.org.ownRecord.record().Active() && (a.user == nil || a.user.Active)
}

// mayLogInFrom tells whether the account may log in from the address.
func (a *loginAccount) mayLogInFrom(source netip.Addr) bool {
	return a.partner == nil || a.partner.Admits(source)
}

// partnerInactive tells whether the account acts only for a partner that is switched off.
func (a *loginAccount) partnerInactive() bool { return a.partner != nil && !a.partner.Active }

// Parameters of Argon2id: the second parameter set of the OWASP password storage cheat sheet. A hash takes only 19 MiB, so a
// burst of logins fits into a small machine's memory.
const (
	argonTime    = 2
	argonMemory  = 19 * 1024 // KiB
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// Bounds of hashing: how many hashes run at once and how many may wait. The bounds apply separately to requests that set
// passwords and to logins (hashingSlots).
const (
	maxHashing     = 2
	maxHashWaiting = 256
)

// passwordHasher hashes and verifies passwords. Requests that set a password wait at settingGate, but logins wait elsewhere
// (hashingSlots), so a flood of logins does not keep administrators from setting passwords.
type passwordHasher struct {
	settingGate gate
	memory      uint32 // KiB per hash
}

func newPasswordHasher() *passwordHasher {
	return &passwordHasher{settingGate: newGate(maxHashing, maxHashWaiting), memory: argonMemory}
}

// hash returns the password's PHC string, a text with the algorithm, the algorithm's parameters, the salt and the hash. If too
// many callers wait, the error is actors.ErrBusy.
func (p *passwordHasher) hash(ctx context.Context, random io.Reader, pass []byte) (string, error) {
	leave, err := p.settingGate.enter(ctx, "directory.hash")
	if err != nil {
		return "", err
	}
	defer leave()
	var salt [argonSalt]byte
	if _, err := io.ReadFull(random, salt[:]); err != nil {
		return "", err
	}
	key := argon2.IDKey(pass, salt[:], argonTime, p.memory, argonThreads, argonKey)
	encoding := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, argonTime, argonThreads,
		encoding.EncodeToString(salt[:]), encoding.EncodeToString(key)), nil
}

// verify tells whether the PHC string was made from the password. If there is no string, or it cannot be parsed, verify does
// the same work and returns false. The caller must limit the number of concurrent calls.
func (p *passwordHasher) verify(phc string, pass []byte) bool {
	parsed, known := parsePHC(phc)
	if !known {
		parsed = passwordHash{memory: p.memory, time: argonTime, threads: argonThreads, salt: make([]byte, argonSalt), key: make([]byte, argonKey)}
	}
	key := argon2.IDKey(pass, parsed.salt, parsed.time, parsed.memory, parsed.threads, uint32(len(parsed.key)))
	keyMatches := subtle.ConstantTimeCompare(key, parsed.key) == 1
	return known && keyMatches
}

// passwordHash is a parsed PHC string.
type passwordHash struct {
	memory    uint32 // KiB
	time      uint32
	threads   uint8
	salt, key []byte
}

// parsePHC parses a PHC string that was made by hash.
func parsePHC(phc string) (h passwordHash, ok bool) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, false
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil || n != 3 {
		return h, false
	}
	encoding := base64.RawStdEncoding
	salt, saltErr := encoding.DecodeString(parts[4])
	key, keyErr := encoding.DecodeString(parts[5])
	h.salt, h.key = salt, key
	return h, saltErr == nil && keyErr == nil && len(salt) > 0 && len(key) == argonKey && h.time > 0 && h.threads > 0
}
