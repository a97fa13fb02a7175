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

	"mizan/bench/generator"
	"mizan/bench/server"
)

// deniedCase is one reason for a 401 response. The response time must not reveal the reason. Keys and
// organizations have the same length in all cases, so that the length does not influence the response time.
type deniedCase struct{ name, key, organization string }

const (
	// keyLifetime is the lifetime of the key that must expire before the measurement. The API refuses to create a key that has
	// expired already.
	keyLifetime = 5 * time.Second
	expiryPoll  = 50 * time.Millisecond
)

// deniedCases returns one case for every reason for which the API must respond with 401. It creates the keys and organizations
// of the cases through the server's own API.
func deniedCases(ctx context.Context, sandbox *server.Sandbox, client *http.Client) ([]deniedCase, error) {
	admin := &operator{client: client, sandbox: sandbox, loginPrefix: uuid.NewString()}
	organization := sandbox.OrganizationID
	otherOrganization := admin.createOrganization(ctx, "Neighbours")
	inactiveOrganization := admin.createOrganization(ctx, "Resting")
	partner := admin.createPartner(ctx, organization, nil)
	restrictedPartner := admin.createPartner(ctx, organization, []string{"192.0.2.0/24"})
	validKey := admin.createKey(ctx, organization, partner, time.Time{})
	expiredKey := admin.createKey(ctx, organization, partner, time.Now().Add(keyLifetime))
	revokedKey := admin.createKey(ctx, organization, partner, time.Time{})
	wrongAddressKey := admin.createKey(ctx, organization, restrictedPartner, time.Time{})
	inactiveKey := admin.createKey(ctx, inactiveOrganization, admin.createPartner(ctx, inactiveOrganization, nil), time.Time{})
	for _, k := range []issuedKey{validKey, revokedKey, expiredKey} {
		admin.requireAdmitted(ctx, organization, k.Key)
	}
	admin.requireAdmitted(ctx, inactiveOrganization, inactiveKey.Key)
	admin.do(ctx, http.MethodDelete, "/api_keys/"+revokedKey.ID, organization, nil, nil)
	admin.do(ctx, http.MethodPatch, "/organizations/"+inactiveOrganization, "", map[string]any{"status": "maintenance"}, nil)
	admin.waitUntilRefused(ctx, organization, expiredKey.Key)
	if admin.err != nil {
		return nil, fmt.Errorf("bench: access: %w", admin.err)
	}
	return []deniedCase{
		{"unknown key", unknownKeyLike(validKey.Key, "A"), organization},
		{"another unknown key", unknownKeyLike(validKey.Key, "B"), organization},
		{"wrong organization", validKey.Key, otherOrganization},
		{"unknown organization", validKey.Key, uuid.NewString()},
		{"expired", expiredKey.Key, organization},
		{"revoked", revokedKey.Key, organization},
		{"inactive organization", inactiveKey.Key, inactiveOrganization},
		{"wrong source address", wrongAddressKey.Key, organization},
	}, nil
}

// unknownKeyLike returns a key that does not exist. It has the same prefix and length as the given key, and repeats letter
// after the prefix.
func unknownKeyLike(key, letter string) string {
	prefix, value, _ := strings.Cut(key, "_")
	return prefix + "_" + strings.Repeat(letter, len(value))
}

// operator calls the API with the administration token. It keeps its first error in err, and makes no more calls after the
// error.
type operator struct {
	client          *http.Client
	sandbox         *server.Sandbox
	loginPrefix     string // prefix of the logins of the partners that this run creates
	idempotencyKey  string // sent with each request, unless it is empty
	partnersCreated int
	err             error
}

// issuedKey is the response to the creation of an API key. Key is the secret value of the key.
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
	o.partnersCreated++
	o.do(ctx, http.MethodPost, "/partners", organization, map[string]any{
		"name": "Denied", "login": o.loginPrefix + "-" + strconv.Itoa(o.partnersCreated), "pass": uuid.NewString(), "source_addresses": sources,
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

// do makes one request with the administration token and decodes the response into result.
func (o *operator) do(ctx context.Context, method, path, organization string, body, result any) {
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
	case result != nil:
		o.err = json.Unmarshal(answer, result)
	}
}

func (o *operator) send(request *http.Request) (status int, body []byte, err error) {
	response, err := o.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, generator.MaxResponse))
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

// requireAdmitted checks that the server accepts a key now, before the key expires or is revoked. Without this check, the
// server might later refuse the key for a reason that the measured case is not about.
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
		case <-time.After(expiryPoll):
		}
	}
}
