package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"mizan/bench/server"
)

// deniedCase is one reason for a 401 response. Keys and organizations have the same length in all
// cases, so that the length can't influence the response time, which must not tell the cases apart.
type deniedCase struct{ name, key, organization string }

const (
	expiresIn   = 5 * time.Second // lifetime of the key that must expire; the API can't create an expired one
	expiredPoll = 50 * time.Millisecond
)

// deniedCases creates the keys and organizations for every reason for which the API must respond with 401,
// through the server's own API.
func deniedCases(ctx context.Context, s *server.Sandbox, client *http.Client) ([]deniedCase, error) {
	a := &operator{client: client, sandbox: s, run: uuid.NewString()}
	organization := s.OrganizationID
	otherOrganization := a.createOrganization(ctx, "Neighbours")
	inactive := a.createOrganization(ctx, "Resting")
	partner := a.createPartner(ctx, organization, nil)
	restricted := a.createPartner(ctx, organization, []string{"192.0.2.0/24"})
	valid := a.createKey(ctx, organization, partner, time.Time{})
	expired := a.createKey(ctx, organization, partner, time.Now().Add(expiresIn))
	revoked := a.createKey(ctx, organization, partner, time.Time{})
	outside := a.createKey(ctx, organization, restricted, time.Time{})
	inactiveKey := a.createKey(ctx, inactive, a.createPartner(ctx, inactive, nil), time.Time{})
	for _, k := range []issuedKey{valid, revoked, expired} {
		a.requireAdmitted(ctx, organization, k.Key)
	}
	a.requireAdmitted(ctx, inactive, inactiveKey.Key)
	a.do(ctx, http.MethodDelete, "/api_keys/"+revoked.ID, organization, nil, nil)
	a.do(ctx, http.MethodPatch, "/organizations/"+inactive, "", map[string]any{"status": "maintenance"}, nil)
	a.waitUntilRefused(ctx, organization, expired.Key)
	if a.err != nil {
		return nil, fmt.Errorf("bench: access: %w", a.err)
	}
	return []deniedCase{
		{"unknown key", unknownKeyLike(valid.Key, "A"), organization},
		{"another unknown key", unknownKeyLike(valid.Key, "B"), organization},
		{"wrong organization", valid.Key, otherOrganization},
		{"unknown organization", valid.Key, uuid.NewString()},
		{"expired", expired.Key, organization},
		{"revoked", revoked.Key, organization},
		{"inactive organization", inactiveKey.Key, inactive},
		{"wrong source address", outside.Key, organization},
	}, nil
}

// unknownKeyLike returns a value with the form of a key that does not exist.
func unknownKeyLike(key, letter string) string {
	prefix, value, _ := strings.Cut(key, "_")
	return prefix + "_" + strings.Repeat(letter, len(value))
}

// operator calls the administration's API. After the first error, which it remembers, it makes no
// further call.
type operator struct {
	client         *http.Client
	sandbox        *server.Sandbox
	run            string // prefix of the logins of this run
	idempotencyKey string // sent with writes; empty: none
	partnersMade   int
	err            error
}

// issuedKey is a new key with its value.
type issuedKey struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

func (o *operator) createOrganization(ctx context.Context, name string) string {
	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	o.do(ctx, http.MethodPost, "/organizations", "", map[string]any{"name": name, "type": "merchant"}, &created)
	return created.Data.ID
}

func (o *operator) createPartner(ctx context.Context, organization string, sources []string) int64 {
	var created struct {
		ID int64 `json:"id"`
	}
	o.partnersMade++
	o.do(ctx, http.MethodPost, "/partners", organization, map[string]any{
		"name": "Denied", "login": o.run + "-" + strconv.Itoa(o.partnersMade), "pass": uuid.NewString(), "source_addresses": sources,
	}, &created)
	return created.ID
}

func (o *operator) createKey(ctx context.Context, organization string, partner int64, expires time.Time) (created issuedKey) {
	draft := map[string]any{"partner_id": partner, "name": "access"}
	if !expires.IsZero() {
		draft["expires_at"] = expires.Format(time.RFC3339Nano)
	}
	o.do(ctx, http.MethodPost, "/api_keys", organization, draft, &created)
	return created
}

// do makes one request with the administration token and reads the response.
func (o *operator) do(ctx context.Context, method, path, organization string, body, into any) {
	if o.err != nil {
		return
	}
	content, err := json.Marshal(body)
	if err != nil {
		o.err = err
		return
	}
	request, err := http.NewRequestWithContext(ctx, method, o.sandbox.BaseURL+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		o.err = err
		return
	}
	request.Header.Set("Authorization", "Bearer "+o.sandbox.AdminToken)
	request.Header.Set("Content-Type", "application/json")
	if organization != "" {
		request.Header.Set("x-organization-id", organization)
	}
	if o.idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", o.idempotencyKey)
	}
	status, answer, err := o.send(request)
	switch {
	case err != nil:
		o.err = err
	case status < 200 || status > 299:
		o.err = fmt.Errorf("%s %s: HTTP %d: %.300s", method, path, status, answer)
	case into != nil:
		o.err = json.Unmarshal(answer, into)
	}
}

func (o *operator) send(request *http.Request) (status int, body []byte, err error) {
	response, err := o.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse))
	return response.StatusCode, body, errors.Join(err, response.Body.Close())
}

// requestStatus returns the HTTP status of a request with the key.
func (o *operator) requestStatus(ctx context.Context, organization, key string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.sandbox.BaseURL+"/api/v1/balances", nil)
	if err != nil {
		o.err = err
		return 0
	}
	request.Header.Set("x-api-key", key)
	request.Header.Set("x-organization-id", organization)
	status, _, err := o.send(request)
	if err != nil {
		o.err = err
	}
	return status
}

// requireAdmitted checks that a key is accepted before it expires or is revoked. Without this check the
// server might refuse the key for another reason than the case's.
func (o *operator) requireAdmitted(ctx context.Context, organization, key string) {
	if o.err != nil {
		return
	}
	if status := o.requestStatus(ctx, organization, key); o.err == nil && status != http.StatusOK {
		o.err = fmt.Errorf("a good key got HTTP %d", status)
	}
}

// waitUntilRefused waits until a key is refused.
func (o *operator) waitUntilRefused(ctx context.Context, organization, key string) {
	for o.err == nil && o.requestStatus(ctx, organization, key) == http.StatusOK {
		select {
		case <-ctx.Done():
			o.err = ctx.Err()
		case <-time.After(expiredPoll):
		}
	}
}
