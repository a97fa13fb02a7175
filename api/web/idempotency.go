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

// maxIdempotencyKey bounds an Idempotency-Key, in characters.
const maxIdempotencyKey = 255

// requestLabel is a prefix of the hash's input, so that the fingerprint of a request never equals that of a card.
const requestLabel = "mizan request: "

// IdempotencyKeys reads the header Idempotency-Key of requests that write. A key is the zero value if
// the request has none; an error is a *ledger.Refusal about the header. The service that the
// handler calls claims the key for the record that the request creates or changes, so that no other write can use the key.
// If the key was claimed before, the handler calls MarkReplayed.
type IdempotencyKeys struct {
	// Fingerprint returns a keyed hash. A body may contain a card number, and the hash of a request is
	// stored permanently. With a plain SHA-256, a reader of the store could find the number by
	// hashing all possible values.
	Fingerprint func(content []byte) string
}

// Partner returns the key of a partner's write.
func (k IdempotencyKeys) Partner(req *Request) (actors.Key, error) {
	key, err := k.key(req, "")
	if !key.IsZero() {
		key.Scope = actors.PartnerKeyScope(req.Principal.Partner.Number)
	}
	return key, err
}

// Admin returns the key of a write by the administration. These keys share one namespace for all organizations,
// so the organization in the header is hashed as a part of the request.
func (k IdempotencyKeys) Admin(req *Request) (actors.Key, error) {
	key, err := k.key(req, actors.AdminKeyScope)
	if err == nil && !key.IsZero() {
		key.Hash = k.hash(req, req.Request.Header.PeekBytes(HeaderOrganization))
	}
	return key, err
}

// Staff returns the key of a session's write. These keys belong to the organization: the same
// request by another user counts as its repetition.
func (k IdempotencyKeys) Staff(req *Request) (actors.Key, error) {
	return k.key(req, actors.UserKeyScope)
}

// OfContent returns a copy of the key that has a hash of the content in place of the hash of the request's body. It is for
// requests whose bodies may differ although their content is the same, such as multipart forms, in which the boundary is random.
func (k IdempotencyKeys) OfContent(req *Request, key actors.Key, content []byte) actors.Key {
	if !key.IsZero() {
		sum := secret.Sum256(req.Method(), req.Path(), req.Request.Header.PeekBytes(HeaderOrganization), content)
		key.Hash = sha256.Sum256([]byte(k.Fingerprint(append([]byte(requestLabel), sum[:]...))))
	}
	return key
}

// StaffQuery returns the key of a session's write whose content is in its query parameters.
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

// isUsableKey tells whether a header's value can be a key.
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

// hash returns a hash that identifies a request by its method, path and body, and by extraParts.
func (k IdempotencyKeys) hash(req *Request, extraParts ...[]byte) [sha256.Size]byte {
	var texts [][]byte
	for _, part := range append([][]byte{req.Method(), req.Path(), req.Request.Body()}, extraParts...) {
		texts = append(texts, binary.BigEndian.AppendUint64(nil, uint64(len(part))), part)
	}
	sum := secret.Sum256(texts...)
	return sha256.Sum256([]byte(k.Fingerprint(append([]byte(requestLabel), sum[:]...))))
}

// MarkReplayed marks a response that repeats an earlier one.
func MarkReplayed(req *Request) { req.Response.Header.SetCanonical(headerReplay, valueTrue) }
