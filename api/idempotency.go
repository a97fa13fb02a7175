package api

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

// requestLabel keeps the fingerprints of requests apart from those of cards.
const requestLabel = "mizan request: "

// partnerKey is the Idempotency-Key of a partner's write; the zero value if it
// has none. The error is a *ledger.Refusal about the header.
func (s *Server) partnerKey(req *call) (actors.Key, error) {
	return s.idempotencyKey(req, actors.KeyOfPartner(req.who.Partner.Number))
}

// adminKey is the Idempotency-Key of a write of the administration, whose keys
// are one name space; so the organization that is named is part of the request.
func (s *Server) adminKey(req *call) (actors.Key, error) {
	key, err := s.idempotencyKey(req, actors.KeyOfAdmin)
	if err == nil && !key.IsZero() {
		key.Hash = s.hashOf(req, req.Request.Header.PeekBytes(headerOrg))
	}
	return key, err
}

// idempotencyKey reads the header Idempotency-Key; the zero value if there is
// none. The service that the handler calls claims the key with what the request
// makes or changes, and the handler calls replayed where it was claimed before.
// Scope says whose keys it is one of: actors.KeyOfPartner or actors.KeyOfAdmin.
func (s *Server) idempotencyKey(req *call, scope string) (actors.Key, error) {
	sent := req.Request.Header.PeekAll(string(headerIdempotency))
	if len(sent) == 0 {
		return actors.Key{}, nil
	}
	if len(sent) > 1 || !usableKey(sent[0]) {
		return actors.Key{}, ledger.RefuseField("api.idempotencyKey", string(headerIdempotency),
			"Idempotency-Key must be sent once, with 1 to %d printable characters", maxIdempotencyKey)
	}
	return actors.Key{Scope: scope, Text: string(sent[0]), Hash: s.hashOf(req)}, nil
}

// usableKey tells whether a header's value may be a key.
func usableKey(said []byte) bool {
	if len(said) == 0 || !utf8.Valid(said) || utf8.RuneCount(said) > maxIdempotencyKey {
		return false
	}
	for _, r := range string(said) {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// hashOf tells a request from all others by its method, path and body, and what
// else is given. A body may hold a card, and the hash is stored for ever: a bare
// SHA-256 would let whoever reads the store try out its missing digits, so it is
// keyed besides.
func (s *Server) hashOf(req *call, more ...[]byte) [sha256.Size]byte {
	var texts [][]byte
	for _, part := range append([][]byte{req.Method(), req.Path(), req.Request.Body()}, more...) {
		texts = append(texts, binary.BigEndian.AppendUint64(nil, uint64(len(part))), part)
	}
	sum := secret.Sum256(texts...)
	return sha256.Sum256([]byte(s.cfg.Fingerprint(append([]byte(requestLabel), sum[:]...))))
}

// replayed marks an answer that repeats an earlier one.
func replayed(req *call) { req.Response.Header.SetCanonical(headerReplay, valueTrue) }
