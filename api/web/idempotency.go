package web

import (
	"crypto/sha256"
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
)

// maxIdempotencyKey is the maximum length of an Idempotency-Key in characters.
const maxIdempotencyKey = 255

// requestLabel begins the data from which a request's fingerprint is computed, so that it never equals the fingerprint of a
// card.
const requestLabel = "mizan request: "

// IdempotencyKeys reads the header Idempotency-Key of requests that write. If the request has no such header, its methods
// return the zero key. If the header is wrong, they return a *ledger.Refusal. A handler passes the key to the service that it
// calls. The service claims the key for the record that the request creates or changes, so that no other write can use the key.
// If the key was claimed before, the handler calls MarkReplayed.
type IdempotencyKeys struct {
	// Fingerprint returns a keyed hash. The hash of a request is stored permanently, and the body may contain a card number. If
	// the hash were a plain SHA-256, somebody who reads the store could find the number by hashing all possible numbers.
	Fingerprint func(content []byte) string
}

// Partner returns the idempotency key of a partner's write.
func (k IdempotencyKeys) Partner(req *Request) (actors.Key, error) {
	key, err := k.key(req, "")
	if !key.IsZero() {
		key.Scope = actors.PartnerKeyScope(req.Principal.Partner.Number)
	}
	return key, err
}

// Admin returns the idempotency key of a write by the administration. These keys are in the same namespace for all
// organizations, so the hash of the request includes the organization in the header.
func (k IdempotencyKeys) Admin(req *Request) (actors.Key, error) {
	key, err := k.key(req, actors.AdminKeyScope)
	if err == nil && !key.IsZero() {
		key.Hash = k.hash(req, req.Request.Header.PeekBytes(HeaderOrganization))
	}
	return key, err
}

// Staff returns the idempotency key of a session's write. These keys belong to the organization, so if another user sends the
// same request with the same key, it counts as a repetition.
func (k IdempotencyKeys) Staff(req *Request) (actors.Key, error) {
	return k.key(req, actors.UserKeyScope)
}

// OfContent returns a copy of the key with a hash of the given content instead of the request's body. It is needed if the
// bodies of two requests may differ although their content is the same. An example are multipart forms, whose boundary is
// random.
func (k IdempotencyKeys) OfContent(req *Request, key actors.Key, content []byte) actors.Key {
	if !key.IsZero() {
		sum := secret.Sum256(req.Method(), req.Path(), req.Request.Header.PeekBytes(HeaderOrganization), content)
		key.Hash = sha256.Sum256([]byte(k.Fingerprint(append([]byte(requestLabel), sum[:]...))))
	}
	return key
}

// StaffQuery returns the idempotency key of a session's write that has its content in query parameters.
func (k IdempotencyKeys) StaffQuery(req *Request) (actors.Key, error) {
	key, err := k.key(req, actors.UserKeyScope)
	if err == nil && !key.IsZero() {
		key.Hash = k.hash(req, req.QueryArgs().QueryString())
	}
	return key, err
}

func (k IdempotencyKeys) key(req *Request, scope string) (actors.Key, error) {
	values := req.Request.Header.PeekAll(string(headerIdempotency))
	if len(values) == 0 {
		return actors.Key{}, nil
	}
	if len(values) > 1 || !isUsableKey(values[0]) {
		return actors.Key{}, ledger.RefuseField("web.IdempotencyKeys", string(headerIdempotency),
			"Idempotency-Key must be sent once, with 1 to %d printable characters", maxIdempotencyKey)
	}
	return actors.Key{Scope: scope, Text: string(values[0]), Hash: k.hash(req)}, nil
}

// isUsableKey tells whether a header's value is a valid idempotency key.
func isUsableKey(value []byte) bool {
	if len(value) == 0 || !utf8.Valid(value) || utf8.RuneCount(value) > maxIdempotencyKey {
		return false
	}
	for _, r := range string(value) {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// hash returns a keyed hash of a request's method, path and body, and of extraParts.
func (k IdempotencyKeys) hash(req *Request, extraParts ...[]byte) [sha256.Size]byte {
	var texts [][]byte
	for _, part := range append([][]byte{req.Method(), req.Path(), req.Request.Body()}, extraParts...) {
		texts = append(texts, binary.BigEndian.AppendUint64(nil, uint64(len(part))), part)
	}
	sum := secret.Sum256(texts...)
	return sha256.Sum256([]byte(k.Fingerprint(append([]byte(requestLabel), sum[:]...))))
}

// MarkReplayed adds a header that marks the response as a repetition of an earlier response.
func MarkReplayed(req *Request) { req.Response.Header.SetCanonical(HeaderReplay, valueTrue) }
