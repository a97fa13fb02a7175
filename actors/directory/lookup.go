package directory

import (
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// A lookup that finds no record continues with one of these records, so that it takes as long as a successful lookup. These
// records are never in force.
var (
	noKey     = &directory.APIKey{RevokedAt: 1}
	noPartner = &directory.Partner{}
	noUser    = &directory.User{}
	noSession = &directory.Session{ExpiresAt: 1, Epoch: 1} // an Epoch of 0 would skip the check of the epoch
)

// usePrecision is the precision of a key's last use: one second, in µs.
const usePrecision = 1_000_000

// Authenticate finds the API key and its partner inside the organization. If the organization is unknown or not active, or if
// the key is unknown, expired or revoked, it does the same work and returns false. The caller must check whether the request
// may come from its address, and whether the partner is active.
func (s *Service) Authenticate(org ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool) {
	now := ledger.MicrosOf(s.rt.Clock.Now())
	keyInView, k, p, ok := s.keyInForce(org, key, now)
	if !ok {
		return nil, nil, false
	}
	keyInView.touch(now)
	s.recordKeyUse(keyInView, k, now)
	return k, p, true
}

// APIKeyInForce finds the partner of a key like Authenticate, but the call does not count as a use of the key.
func (s *Service) APIKeyInForce(org ledger.ID, key []byte) (*directory.Partner, bool) {
	_, _, p, ok := s.keyInForce(org, key, ledger.MicrosOf(s.rt.Clock.Now()))
	return p, ok
}

func (s *Service) keyInForce(org ledger.ID, key []byte, now ledger.Micros) (*viewRecord[directory.APIKey], *directory.APIKey, *directory.Partner, bool) {
	hash := secret.HashToken(key)
	o, known := s.org(org)
	if !known {
		o = s.absentOrganization
	}
	k, found := noKey, false
	keyInView, ok := o.key(hash)
	if ok {
		k, found = keyInView.record(), true
	}
	p, hasOwner := noPartner, false
	if owner, ok := o.partner(k.Partner); ok {
		p, hasOwner = owner.record(), true
	}
	hashMatches := subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
	valid, active := k.IsValid(now), o.ownRecord.record().Active()
	if !(known && found && hasOwner && hashMatches && valid && active) {
		return nil, nil, nil, false
	}
	return keyInView, k, p, true
}

// touch records a use at most once per second, so that concurrent requests do not all write to the
// same cache line of the processor.
func (v *viewRecord[T]) touch(now ledger.Micros) {
	if last := v.lastUsedAt.Load(); int64(now)-last >= usePrecision {
		v.lastUsedAt.CompareAndSwap(last, int64(now))
	}
}

// AdminToken tells whether the token is an administration token that is in force.
func (s *Service) AdminToken(token []byte) bool {
	hash := secret.HashToken(token)
	found := 0
	for _, admitted := range s.platform.Load().record.AdminTokens {
		found |= subtle.ConstantTimeCompare(hash[:], admitted[:])
	}
	return found == 1
}

// AdminTokens returns how many administration tokens are in force.
func (s *Service) AdminTokens() int { return len(s.platform.Load().record.AdminTokens) }

// Organization finds an organization, whatever its status.
func (s *Service) Organization(id ledger.ID) (*directory.Organization, bool) {
	o, ok := s.org(id)
	if !ok {
		return nil, false
	}
	return o.ownRecord.record(), true
}

// SoleOrganization returns the id of the only organization. If there is no organization or more than one, it returns false.
func (s *Service) SoleOrganization() (ledger.ID, bool) {
	order := s.inCreationOrder()
	if len(order) != 1 {
		return ledger.ID{}, false
	}
	return order[0].id, true
}

// Partner finds a partner of the organization by its number.
func (s *Service) Partner(org ledger.ID, number int64) (*directory.Partner, bool) {
	if o, ok := s.org(org); ok {
		if p, ok := o.partner(number); ok {
			return p.record(), true
		}
	}
	return nil, false
}

// Terminals returns all terminals of a partner, including those that are switched off, ordered by priority and then by id. The
// slice is shared and never changes: if a terminal changes, a new slice replaces the old one.
func (s *Service) Terminals(org ledger.ID, partner int64) []*directory.Terminal {
	o, ok := s.org(org)
	if !ok {
		return nil
	}
	return o.terminalsOf(partner)
}

// PartnerByID finds a partner of the organization by the id of its record.
func (s *Service) PartnerByID(org, id ledger.ID) (*directory.Partner, bool) {
	return partners.find(s, org, id)
}

// Terminal finds a terminal of the organization.
func (s *Service) Terminal(org, terminal ledger.ID) (*directory.Terminal, bool) {
	return terminals.find(s, org, terminal)
}

// APIKey finds a key of the organization by its id, whatever the key's state, and includes the time of the key's latest use.
func (s *Service) APIKey(org, key ledger.ID) (*directory.APIKey, bool) {
	if o, ok := s.org(org); ok {
		if c, found := o.keys.get(key); found {
			return withLatestUse(c.record(), c), true
		}
	}
	return nil, false
}

// RateByID finds a rate of the organization by its id.
func (s *Service) RateByID(org, rate ledger.ID) (*directory.Rate, bool) {
	return rates.find(s, org, rate)
}

// Bounds of a page, in rows.
const (
	DefaultPage = 50
	MaxPage     = 500
)

// Page selects a page of a list. In a list, the record that was created last comes first.
type Page struct {
	Limit   int    // 1 to MaxPage; 0 means DefaultPage
	After   Cursor // the last row of the previous page; zero for the first page
	Partner int64  // the partner whose records are listed; 0 for all records
}

// Cursor identifies a row of a list.
type Cursor struct {
	At ledger.Micros // the time of creation
	ID ledger.ID
}

// IsZero tells whether the cursor identifies no row. With its last page, a list returns a cursor that identifies no row.
func (c Cursor) IsZero() bool { return c == Cursor{} }

const cursorTimeLayout = "2006-01-02T15:04:05.000000-07:00"

// String returns the cursor as text: the row's time of creation in ISO 8601 with microseconds, a slash, and the row's id. The
// id is needed because organizations can be created in the same microsecond.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return c.At.Time().Format(cursorTimeLayout) + "/" + c.ID.String()
}

// ParseCursor parses a cursor that was written by String; the id may be missing. The error is a *ledger.Refusal that names the
// field "cursor".
func ParseCursor(text string) (Cursor, error) {
	refusal := ledger.RefuseField("directory.ParseCursor", "cursor", "is not a cursor of this list")
	instant, id, hasID := strings.Cut(text, "/")
	at, err := time.Parse(time.RFC3339Nano, instant)
	if err != nil {
		return Cursor{}, refusal
	}
	c := Cursor{At: ledger.MicrosOf(at)}
	if hasID {
		if len(id) != 36 {
			return Cursor{}, refusal
		}
		if c.ID, err = uuid.Parse(id); err != nil {
			return Cursor{}, refusal
		}
	}
	return c, nil
}

// ListOrganizations returns a page of all organizations and the cursor of the next page. If this is the last page, the cursor
// is zero. Errors are *ledger.Refusal.
func (s *Service) ListOrganizations(p Page) ([]*directory.Organization, Cursor, error) {
	return readPage(&s.organizations, s.inCreationOrder(), p, (*viewRecord[directory.Organization]).record)
}

// ListPartners returns a page of an organization's partners.
func (s *Service) ListPartners(org ledger.ID, p Page) ([]*directory.Partner, Cursor, error) {
	return partners.list(s, org, p)
}

// ListTerminals returns a page of an organization's terminals.
func (s *Service) ListTerminals(org ledger.ID, p Page) ([]*directory.Terminal, Cursor, error) {
	return terminals.list(s, org, p)
}

// ListAPIKeys returns a page of an organization's keys, including revoked keys. The time of a key's last use is stored only
// about once an hour, so after a crash the page may show the time of an earlier use.
func (s *Service) ListAPIKeys(org ledger.ID, p Page) ([]*directory.APIKey, Cursor, error) {
	o, ok := s.org(org)
	if !ok {
		return nil, Cursor{}, notFound("directory.ListAPIKeys", "organization")
	}
	return readPage(&o.keys, keys.order(o, p.Partner), p, func(c *viewRecord[directory.APIKey]) *directory.APIKey {
		return withLatestUse(c.record(), c)
	})
}

// withLatestUse returns a copy of a key with the time of its latest use.
func withLatestUse(k *directory.APIKey, keyInView *viewRecord[directory.APIKey]) *directory.APIKey {
	latest := *k
	latest.LastUsedAt = max(k.LastUsedAt, ledger.Micros(keyInView.lastUsedAt.Load()))
	return &latest
}

// EachPartner calls fn with each partner of an organization, newest first, until fn returns false. Unlike the functions that
// return pages, the functions Each… copy and allocate nothing, so they suit a search among all records.
func (s *Service) EachPartner(org ledger.ID, fn func(*directory.Partner) (more bool)) error {
	return partners.each(s, org, func(p *directory.Partner) string { return p.Name }, fn)
}

// EachTerminal is like EachPartner, but for terminals.
func (s *Service) EachTerminal(org ledger.ID, fn func(*directory.Terminal) (more bool)) error {
	return terminals.each(s, org, func(t *directory.Terminal) string { return t.Name }, fn)
}

// EachAPIKey is like EachPartner, but for keys. The latest use of a key may be missing.
func (s *Service) EachAPIKey(org ledger.ID, fn func(*directory.APIKey) (more bool)) error {
	return keys.each(s, org, func(k *directory.APIKey) string { return k.Name }, fn)
}

// EachUser is like EachPartner, but for users.
func (s *Service) EachUser(org ledger.ID, fn func(*directory.User) (more bool)) error {
	return users.each(s, org, func(u *directory.User) string { return u.Name }, fn)
}

// ListRates returns a page of an organization's rates.
func (s *Service) ListRates(org ledger.ID, p Page) ([]*directory.Rate, Cursor, error) {
	return rates.list(s, org, p)
}

// readPage returns a page of an index's records. It reads order backwards, beginning before the cursor.
func readPage[T, R any](x *index[T], order []creation, p Page, row func(*viewRecord[T]) R) (rows []R, next Cursor, err error) {
	if p.Limit == 0 {
		p.Limit = DefaultPage
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, Cursor{}, ledger.RefuseField("directory.List", "limit", "must be from 1 to %d", MaxPage)
	}
	if !p.After.IsZero() {
		end, _ := slices.BinarySearchFunc(order, creation{p.After.At, p.After.ID}, compareCreation)
		order = order[:end]
	}
	page := order[max(0, len(order)-p.Limit):]
	for _, c := range slices.Backward(page) {
		record, _ := x.get(c.id)
		rows = append(rows, row(record))
	}
	if len(page) < len(order) {
		next = Cursor{At: page[0].startedAt, ID: page[0].id}
	}
	return rows, next, nil
}
