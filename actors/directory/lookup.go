package directory

import (
	"crypto/subtle"
	"slices"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Placeholders that lookups compare with if nothing is found, so that both cases take equally long.
var (
	noKey     = &directory.APIKey{Revoked: 1}
	noPartner = &directory.Partner{}
	noUser    = &directory.User{}
	noSession = &directory.Session{Expires: 1, Epoch: 1}
)

// usedEvery is the precision of a key's last use: one second, in µs.
const usedEvery = 1_000_000

// Authenticate finds the API key and its partner inside the organization. It returns false, after
// the same work, for an unknown organization, one that is not active, and an unknown, expired or
// revoked key. The caller checks whether the request may come from its address and whether the
// partner is active.
func (s *Service) Authenticate(id ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool) {
	now := ledger.MicrosOf(s.rt.Clock.Now())
	place, k, p, ok := s.keyInForce(id, key, now)
	if !ok {
		return nil, nil, false
	}
	place.touch(now)
	s.recordKeyUse(place, k, now)
	return k, p, true
}

// APIKeyInForce finds the partner of a key as Authenticate does, but does not count as a use of the
// key.
func (s *Service) APIKeyInForce(id ledger.ID, key []byte) (*directory.Partner, bool) {
	_, _, p, ok := s.keyInForce(id, key, ledger.MicrosOf(s.rt.Clock.Now()))
	return p, ok
}

func (s *Service) keyInForce(id ledger.ID, key []byte, now ledger.Micros) (*recordSlot[directory.APIKey], *directory.APIKey, *directory.Partner, bool) {
	hash := secret.HashToken(key)
	o, known := s.org(id)
	if !known {
		o = s.decoy
	}
	k, found := noKey, false
	place, ok := o.key(hash)
	if ok {
		k, found = place.record(), true
	}
	p, owned := noPartner, false
	if owner, ok := o.partner(k.Partner); ok {
		p, owned = owner.record(), true
	}
	same := subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
	valid, active := k.Valid(now), o.self.record().Active()
	if !(known && found && owned && same && valid && active) {
		return nil, nil, nil, false
	}
	return place, k, p, true
}

// touch records a use at most once per second, so that concurrent requests do not all write to the
// same cache line.
func (c *recordSlot[T]) touch(now ledger.Micros) {
	if last := c.used.Load(); int64(now)-last >= usedEvery {
		c.used.CompareAndSwap(last, int64(now))
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

// Organization finds an organization, in any status.
func (s *Service) Organization(id ledger.ID) (*directory.Organization, bool) {
	o, ok := s.org(id)
	if !ok {
		return nil, false
	}
	return o.self.record(), true
}

// SoleOrganization returns the id of the only organization; false unless there is exactly one.
func (s *Service) SoleOrganization() (ledger.ID, bool) {
	order := s.organizations.slots()
	if len(order) != 1 {
		return ledger.ID{}, false
	}
	return order[0].id, true
}

// Partner finds a partner of the organization by its number.
func (s *Service) Partner(id ledger.ID, number int64) (*directory.Partner, bool) {
	if o, ok := s.org(id); ok {
		if p, ok := o.partner(number); ok {
			return p.record(), true
		}
	}
	return nil, false
}

// Terminals returns all terminals of a partner, by priority and then by id, including those that
// are switched off.
func (s *Service) Terminals(id ledger.ID, partner int64) []*directory.Terminal {
	o, ok := s.org(id)
	if !ok {
		return nil
	}
	return slices.Clone(o.terminalsOf(partner))
}

// Terminal finds a terminal of the organization.
func (s *Service) Terminal(id, terminal ledger.ID) (*directory.Terminal, bool) {
	return terminals.find(s, id, terminal)
}

// APIKey finds a key of the organization by its id, in any state.
func (s *Service) APIKey(id, key ledger.ID) (*directory.APIKey, bool) { return keys.find(s, id, key) }
