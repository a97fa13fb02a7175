package posting_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// claimHash computes the hash of a claim without the code of the writer, as docs/audit.md describes it: from the length of
// the row's key, the key, and the owner.
func claimHash(c *ledger.Claim) ledger.Hash {
	key := append(append(append([]byte{'c'}, c.Org[:]...), byte(c.Kind)), c.Key...)
	return sha256.Sum256(append(append(binary.AppendUvarint(nil, uint64(len(key))), key...), c.Owner...))
}

// noticesHash computes the hash of an event's notices without the code of the writer: from the channel, the destination, the
// length of the body, and the body of each notice.
func noticesHash(notices ...posting.Notice) ledger.Hash {
	var b []byte
	for _, n := range notices {
		b = append(append(b, byte(n.Channel)), n.To[:]...)
		b = append(binary.AppendUvarint(b, uint64(len(n.Body))), n.Body...)
	}
	return sha256.Sum256(b)
}

// storedHashes returns the hashes of stored rows that each event of an organization contains.
func (f *fixture) storedHashes(org ledger.ID) (hashes []ledger.StoredHashes) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	err := v.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		hashes = append(hashes, e.StoredHashes)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return hashes
}

// recordHash returns the SHA-256 of the stored rows of a record: the record's row, and the further rows of a long payload.
// The organization must have only one record of this kind.
func (f *fixture) recordHash(kind ledger.Kind) ledger.Hash {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	var content []byte
	for _, kindOfRow := range []posting.RowKind{posting.Records, posting.RecordParts} {
		err := v.Rows(org, kindOfRow, func(key, row []byte) (bool, error) {
			if key[17] == byte(kind) {
				content = append(content, row...)
			}
			return true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return sha256.Sum256(content)
}

func (f *fixture) wantStored(what string, index int, want ledger.StoredHashes) {
	f.t.Helper()
	got := f.storedHashes(org)[index]
	if got.Record != want.Record || got.Notices != want.Notices || len(got.Claims) != len(want.Claims) {
		f.t.Errorf("%s: event %d has %x, want %x", what, index+1, got, want)
		return
	}
	for i := range want.Claims {
		if got.Claims[i] != want.Claims[i] {
			f.t.Errorf("%s: event %d has claim %x, want %x", what, index+1, got.Claims[i], want.Claims[i])
		}
	}
}

// Once a group is durable, the hashes in its events equal the hashes of the stored rows. The test has rows with fields
// that the writer sets, rows with long payloads, and rows with the hashes of sealed rows.
func TestEventHasTheHashesOfItsStoredRows(t *testing.T) {
	f := open(t)
	user, partner := ledger.Source{Kind: ledger.User, ID: uuid.New()}, ledger.Source{Kind: ledger.Partner, ID: uuid.New()}
	longPayload := bytes.Repeat([]byte("payload "), 40<<10)
	id := bytes.Repeat([]byte{7}, 16)
	claims := []ledger.Claim{
		{Org: org, Kind: ledger.ClaimIdempotency, Key: "admin/k", Owner: append([]byte("hash of a request"), id...)},
		{Org: org, Kind: ledger.ClaimLogin, Key: "demo", Owner: id},
		{Org: uuid.New(), Kind: ledger.ClaimIdempotency, Key: "admin/k", Owner: append([]byte("another's hash "), id...)},
	}
	notices := []posting.Notice{
		{Event: 0, Channel: posting.Webhook, To: uuid.New(), Body: []byte("a")},
		{Event: 0, Channel: posting.OperatorAlert, To: uuid.New()},
		{Event: 1, Channel: posting.Webhook, To: uuid.New(), Body: bytes.Repeat([]byte{3}, 300)},
	}
	f.must(&posting.Change{Author: ledger.BySystem.Author(), Claims: claims, Steps: []posting.Step{
		{
			Org: org, Source: user, Record: []byte("first"), Due: ledger.MicrosOf(start) + 5, Finish: true, Sequence: "n", Sealed: []byte("card"),
			Events: []ledger.Event{{Name: "a", To: "b"}, {Name: "b", From: "b", To: "c"}}, Notices: notices,
		},
		{Org: org, Source: partner, Record: longPayload, Events: []ledger.Event{{Name: "a", To: "b"}}},
	}})
	f.wantStored("a step's first event", 0, ledger.StoredHashes{Notices: noticesHash(notices[:2]...)})
	f.wantStored("its last event", 1, ledger.StoredHashes{
		Record: f.recordHash(ledger.User), Notices: noticesHash(notices[2]), Claims: []ledger.Hash{claimHash(&claims[0]), claimHash(&claims[2])},
	})
	f.wantStored("a long record", 2, ledger.StoredHashes{Record: f.recordHash(ledger.Partner)})
	hashBefore := f.recordHash(ledger.User)

	f.restart() // the writer reads the record's header from the store
	f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: user, Expect: 2, Record: []byte("first"), Events: []ledger.Event{{Name: "c", From: "c", To: "c"}}}}})
	f.wantStored("a record beside its sealed row", 3, ledger.StoredHashes{Record: f.recordHash(ledger.User)})
	v := f.View()
	record, _, err := v.Record(org, user)
	v.Close()
	if want := sha256.Sum256([]byte("card")); err != nil || record.Header.Sealed != want {
		t.Errorf("the record says that %x is sealed beside it (%v), want %x", record.Header.Sealed, err, want)
	}
	f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: user, Expect: 3, Record: []byte("first"), RemoveSealed: true, Events: []ledger.Event{{Name: "c", From: "c", To: "c"}}}}})
	f.wantStored("a record whose sealed row is removed", 4, ledger.StoredHashes{Record: f.recordHash(ledger.User)})
	if f.recordHash(ledger.User) == hashBefore {
		t.Error("a record with another version has the same hash")
	}
	f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: []ledger.Event{{Name: "move"}}}}})
	f.wantStored("a transfer", 5, ledger.StoredHashes{})
}

// If an event must contain the hash of a claim, a change without a step, or with too many such claims, is a bug of the
// caller.
func TestClaimNeedsAnEventWithItsHash(t *testing.T) {
	f := open(t)
	owner := bytes.Repeat([]byte{7}, 17)
	for name, c := range map[string]*posting.Change{
		"no step": {Claims: []ledger.Claim{{Org: org, Kind: ledger.ClaimIdempotency, Key: "k", Owner: owner}}},
		"too many claims": {
			Claims: manyClaims(ledger.MaxClaimHashes+1, owner),
			Steps:  []posting.Step{{Org: org, Source: ledger.Source{Kind: ledger.User, ID: uuid.New()}, Record: []byte{1}, Events: []ledger.Event{{Name: "a", To: "b"}}}},
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it was accepted", name)
				}
			}()
			f.submit(c)
		}()
	}
}

func manyClaims(n int, owner []byte) (claims []ledger.Claim) {
	for i := range n {
		claims = append(claims, ledger.Claim{Org: org, Kind: ledger.ClaimIdempotency, Key: string(rune('a' + i)), Owner: owner})
	}
	return claims
}
