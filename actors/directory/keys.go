package directory

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Prefixes of the values of keys, tokens and sessions. People and secret scanners recognise the values by their
// prefixes.
const (
	keyPrefix   = "mzk_"
	adminPrefix = "mza_"
)

// shownKeyBytes is how many of the first bytes of a key's value are kept in the key's record, so that people can tell
// keys apart: the prefix and 8 of the 43 characters after the prefix.
const shownKeyBytes = len(keyPrefix) + 8

// CreateAPIKey adds a key with the draft's fields to a partner of the organization. The returned key includes its
// value. The value is stored nowhere, except in the sealed (encrypted) reply to a request with an idempotency key.
// Errors are *ledger.Refusal.
func (s *Service) CreateAPIKey(ctx context.Context, org ledger.ID, draft directory.APIKey) (*directory.APIKey, error) {
	const op = "directory.CreateAPIKey"
	draft.Org = org
	value := fillNewKey(&draft, s.random)
	ctx = withCachedReplyOf(ctx, func(made any) any { return shownKey(made.(*directory.APIKey), value) })
	created, err := keys.create(ctx, s, op, org, func(o *organization, now ledger.Micros) (*directory.APIKey, ledger.Event, []ledger.Claim, error) {
		k, event, err := directory.NewAPIKey(draft, now)
		return k, event, []ledger.Claim{hashClaim(org, draft.Hash, draft.ID)}, directory.Join(o.checkOwner(op, draft.Partner), err)
	})
	if err != nil {
		return nil, err
	}
	return shownKey(created, value), nil
}

// fillNewKey makes an id and a value for a key, and returns the value. It puts only the beginning and the hash of the
// value into the key's record.
func fillNewKey(k *directory.APIKey, random io.Reader) (value string) {
	value = secret.NewToken(keyPrefix, random)
	k.ID, k.Prefix, k.Hash = uuid.New(), value[:shownKeyBytes], secret.HashToken([]byte(value))
	return value
}

// shownKey returns a copy of a new key that includes the value. The response to the key's creation shows this copy.
func shownKey(k *directory.APIKey, value string) *directory.APIKey {
	shown := *k
	shown.Value = value
	return &shown
}

func hashClaim(org ledger.ID, hash [32]byte, owner ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimKeyHash, Key: hex.EncodeToString(hash[:]), Owner: owner[:]}
}

// RevokeAPIKey revokes a key. When RevokeAPIKey returns, the key is already refused. If the key was already revoked,
// nothing changes. The error is a *ledger.Refusal.
func (s *Service) RevokeAPIKey(ctx context.Context, org, key ledger.ID) (*directory.APIKey, error) {
	latest := func(k *directory.APIKey) *directory.APIKey {
		o, _ := s.orgs.get(org)
		keyInView, _ := o.keys.get(key)
		return withLatestUse(k, keyInView)
	}
	ctx = withCachedReplyOf(ctx, func(made any) any { return latest(made.(*directory.APIKey)) })
	revoked, err := keys.change(ctx, s, "directory.RevokeAPIKey", org, keys.at(key), func(_ *organization, old *directory.APIKey, now ledger.Micros) (*directory.APIKey, ledger.Event, error) {
		next, event := old.Revoke(now)
		return next, event, nil
	})
	if err != nil {
		return nil, err
	}
	return latest(revoked), nil
}
