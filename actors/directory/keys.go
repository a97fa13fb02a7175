package directory

import (
	"context"
	"encoding/hex"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// Prefixes of key, token and session values, by which people and secret scanners recognise them.
const (
	keyPrefix     = "mzk_"
	adminPrefix   = "mza_"
	sessionPrefix = "mzs_"
)

// shownOfKey is how many bytes of a key's value its record keeps, to tell keys apart: the prefix
// and 8 of the 43 characters.
const shownOfKey = len(keyPrefix) + 8

// CreateAPIKey adds a key to a partner of the organization and returns its value, which is stored
// nowhere but in the sealed reply of a request with an idempotency key. Errors are *ledger.Refusal.
func (s *Service) CreateAPIKey(ctx context.Context, org ledger.ID, d directory.APIKeyDraft) (*directory.APIKey, secret.Text, error) {
	const op = "directory.CreateAPIKey"
	if _, err := s.writable(op, org); err != nil {
		return nil, "", err
	}
	var created *directory.APIKey
	id, value := uuid.New(), secret.NewToken(keyPrefix, s.random)
	err := s.write(ctx, org, op, func(now ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		owner, missing := o.owner(op, d.Partner)
		k, event, err := newKey(id, owner, value, d, now)
		if err := directory.Join(missing, err); err != nil {
			return nil, nil, err
		}
		created = k
		return &posting.Change{
			Steps:  []posting.Step{step(org, 0, encodeKey(k), event)},
			Claims: []ledger.Claim{hashClaim(org, k.Hash, id)},
		}, IssuedKey{k, secret.Text(value)}, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putKey(created, stamps[0])
	})
	if err != nil {
		return nil, "", err
	}
	return created, secret.Text(value), nil
}

func newKey(id ledger.ID, owner *directory.Partner, value string, d directory.APIKeyDraft, now ledger.Micros) (*directory.APIKey, ledger.Event, error) {
	return directory.NewAPIKey(id, owner, value[:shownOfKey], secret.HashToken([]byte(value)), d, now)
}

func hashClaim(org ledger.ID, hash [32]byte, owner ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimKeyHash, Key: hex.EncodeToString(hash[:]), Owner: owner[:]}
}

// RevokeAPIKey revokes a key; the key is refused from before RevokeAPIKey returns. A key that was
// revoked before stays as it is. The error is a *ledger.Refusal.
func (s *Service) RevokeAPIKey(ctx context.Context, org, id ledger.ID) (ListedKey, error) {
	const op = "directory.RevokeAPIKey"
	if _, ok := s.APIKey(org, id); !ok {
		return ListedKey{}, notFound(op, "key")
	}
	var next ListedKey
	err := s.write(ctx, org, op, func(now ledger.Micros) (*posting.Change, any, error) {
		o, _ := s.org(org)
		place, _ := o.keys.get(id)
		old := place.now.Load()
		revoked, event := old.record.Revoke(now)
		if next = listed(revoked, place); event.Name == "" {
			return nil, nil, nil
		}
		return &posting.Change{Steps: []posting.Step{step(org, old.stamp.Version, encodeKey(revoked), event)}}, next, nil
	}, func(stamps []posting.Stamp) {
		o, _ := s.org(org)
		o.putKey(next.APIKey, stamps[0])
	})
	if err != nil {
		return ListedKey{}, err
	}
	return next, nil
}
