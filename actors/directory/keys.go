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

// Prefixes of key, token and session values, by which people and secret scanners recognise them.
const (
	keyPrefix     = "mzk_"
	adminPrefix   = "mza_"
	sessionPrefix = "mzs_"
)

// shownKeyBytes is how many bytes of a key's value the key's record keeps, so that keys can be told
// apart: the prefix and 8 of the 43 characters.
const shownKeyBytes = len(keyPrefix) + 8

// CreateAPIKey adds a key with the draft's fields to a partner of the organization. The returned key includes its
// value. The value is not stored, with one exception: the reply to a request with an idempotency key is stored, sealed,
// with the value. Errors are *ledger.Refusal.
func (s *Service) CreateAPIKey(ctx context.Context, org ledger.ID, draft directory.APIKey) (*directory.APIKey, error) {
	const op = "directory.CreateAPIKey"
	draft.Org = org
	value := fillNewKey(&draft, s.random)
	ctx = withReplyShowing(ctx, func(made any) any { return shownKey(made.(*directory.APIKey), value) })
	created, err := keys.create(ctx, s, op, org, func(o *organization, now ledger.Micros) (*directory.APIKey, ledger.Event, []ledger.Claim, error) {
		k, event, err := directory.NewAPIKey(draft, now)
		return k, event, []ledger.Claim{hashClaim(org, draft.Hash, draft.ID)}, directory.Join(o.checkOwner(op, draft.Partner), err)
	})
	if err != nil {
		return nil, err
	}
	return shownKey(created, value), nil
}

// fillNewKey gives a key its id and returns a value for it. The key itself keeps only the value's beginning and hash.
func fillNewKey(k *directory.APIKey, random io.Reader) (value string) {
	value = secret.NewToken(keyPrefix, random)
	k.ID, k.Prefix, k.Hash = uuid.New(), value[:shownKeyBytes], secret.HashToken([]byte(value))
	return value
}

// shownKey returns a copy of a new key with its value, which the response to its creation shows.
func shownKey(k *directory.APIKey, value string) *directory.APIKey {
	shown := *k
	shown.Value = value
	return &shown
}

func hashClaim(org ledger.ID, hash [32]byte, owner ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimKeyHash, Key: hex.EncodeToString(hash[:]), Owner: owner[:]}
}

// RevokeAPIKey revokes a key. When RevokeAPIKey returns, the key is already refused. A key that was revoked
// before stays as it is. The error is a *ledger.Refusal.
func (s *Service) RevokeAPIKey(ctx context.Context, org, key ledger.ID) (*directory.APIKey, error) {
	latest := func(k *directory.APIKey) *directory.APIKey {
		o, _ := s.org(org)
		keyInView, _ := o.keys.get(key)
		return withLatestUse(k, keyInView)
	}
	ctx = withReplyShowing(ctx, func(made any) any { return latest(made.(*directory.APIKey)) })
	revoked, err := keys.change(ctx, s, "directory.RevokeAPIKey", org, keys.at(key), func(_ *organization, old *directory.APIKey, now ledger.Micros) (*directory.APIKey, ledger.Event, error) {
		next, event := old.Revoke(now)
		return next, event, nil
	})
	if err != nil {
		return nil, err
	}
	return latest(revoked), nil
}
