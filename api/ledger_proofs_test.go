package api_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/ledger"
)

// signedHead opens the signed head (size and root hash of the tree of the organization's events) with nothing but
// the published key, as an auditor does.
func signedHead(t *testing.T, c caller) (tlog.Tree, *note.Note) {
	t.Helper()
	verifier, err := note.NewVerifier(c.get(ledgerPath+"/key").want(200, "").at("data.key"))
	must(t, err)
	signedNote, err := note.Open(decodeBase64(t, c.get(ledgerPath+"/head").want(200, "").at("data.signature")), note.VerifierList(verifier))
	must(t, err)
	tree, err := tlog.ParseTree([]byte(signedNote.Text))
	must(t, err)
	return tree, signedNote
}

func decodeBase64(t *testing.T, text string) []byte {
	t.Helper()
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	must(t, err)
	return decoded
}

func hashOf(t *testing.T, text string) (h tlog.Hash) {
	t.Helper()
	if copy(h[:], decodeBase64(t, text)) != tlog.HashSize {
		t.Fatalf("%q is no hash", text)
	}
	return h
}

// proofHashes returns the hashes of the proof in a response.
func proofHashes(t *testing.T, r *response) (hashes []tlog.Hash) {
	t.Helper()
	for i := 0; ; i++ {
		text := r.at(fmt.Sprintf("data.proof.%d", i))
		if text == "(absent)" {
			return hashes
		}
		hashes = append(hashes, hashOf(t, text))
	}
}

func TestEveryEventHasAProofUnderTheSignedHead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"1250"`)).want(201, "")
	tree, _ := signedHead(t, f.auditor())
	if tree.N < 10 {
		t.Fatalf("only %d events", tree.N)
	}
	for seq := int64(1); seq <= tree.N; seq++ {
		r := f.auditor().get(fmt.Sprintf("%s/proofs/inclusion?seq=%d", ledgerPath, seq)).want(200, "")
		leaf := decodeBase64(t, r.at("data.leaf"))
		if r.at("data.seq") != fmt.Sprint(seq) || r.at("data.size") != fmt.Sprint(tree.N) || hashOf(t, r.at("data.root")) != tree.Hash {
			t.Fatalf("event %d of a tree %+v: %s", seq, tree, r.body)
		}
		if err := tlog.CheckRecord(proofHashes(t, r), tree.N, tree.Hash, seq-1, tlog.RecordHash(leaf)); err != nil {
			t.Fatalf("event %d: %v", seq, err)
		}
		if e, err := ledger.ParseCanonical(leaf); err != nil || int64(e.Seq) != seq {
			t.Fatalf("event %d: the leaf is event %d (%v)", seq, e.Seq, err)
		}
	}
}

func TestProofOfAnEventEqualsTheLedgersEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.partner().post(transactions, paymentBody(`"amount":"1250","currency":"USD"`)).want(201, "").at("id")
	entries := f.auditor().get(ledgerPath+"/entries?env=test&source="+id).want(200, "")
	leaf := decodeBase64(t, f.auditor().get(ledgerPath+"/proofs/inclusion?seq="+entries.at("data.0.seq")).want(200, "").at("data.leaf"))
	e, err := ledger.ParseCanonical(leaf)
	must(t, err)
	if e.Source.ID.String() != id || e.Name != entries.at("data.0.event") || e.Entry.Postings[1].Amount.String() != "1250" {
		t.Errorf("%+v, shown %s", e, entries.body)
	}
}

func TestLaterHeadIsProvenToExtendAnEarlierOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	earlierTree, _ := signedHead(t, f.auditor())
	f.partner().post(transactions, paymentBody(`"amount":"5"`)).want(201, "")
	f.restart()
	laterTree, _ := signedHead(t, f.auditor())
	if laterTree.N <= earlierTree.N {
		t.Fatalf("%d events, then %d", earlierTree.N, laterTree.N)
	}
	r := f.auditor().get(fmt.Sprintf("%s/proofs/consistency?from=%d", ledgerPath, earlierTree.N)).want(200, "")
	if r.at("data.from") != fmt.Sprint(earlierTree.N) || r.at("data.to") != fmt.Sprint(laterTree.N) ||
		hashOf(t, r.at("data.from_root")) != earlierTree.Hash || hashOf(t, r.at("data.to_root")) != laterTree.Hash {
		t.Errorf("%s", r.body)
	}
	must(t, tlog.CheckTree(proofHashes(t, r), laterTree.N, laterTree.Hash, earlierTree.N, earlierTree.Hash))
	// For an earlier tree, too, there are proofs of consistency and of inclusion.
	r = f.auditor().get(fmt.Sprintf("%s/proofs/consistency?from=3&to=%d", ledgerPath, earlierTree.N)).want(200, "")
	must(t, tlog.CheckTree(proofHashes(t, r), earlierTree.N, earlierTree.Hash, 3, hashOf(t, r.at("data.from_root"))))
	r = f.auditor().get(fmt.Sprintf("%s/proofs/inclusion?seq=3&size=%d", ledgerPath, earlierTree.N)).want(200, "")
	must(t, tlog.CheckRecord(proofHashes(t, r), earlierTree.N, earlierTree.Hash, 2, tlog.RecordHash(decodeBase64(t, r.at("data.leaf")))))
	emptyProof := f.auditor().get(fmt.Sprintf("%s/proofs/consistency?from=%d&to=%d", ledgerPath, earlierTree.N, earlierTree.N)).want(200, "")
	if emptyProof.at("data.proof.0") != "(absent)" || emptyProof.at("data.from_root") != emptyProof.at("data.to_root") {
		t.Errorf("a tree and itself: %s", emptyProof.body)
	}
}

func TestHeadNamesItsOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, firstHead := signedHead(t, f.auditor())
	_, secondHead := signedHead(t, f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org))
	for head, org := range map[string]string{firstHead.Text: f.seed.First.Org.String(), secondHead.Text: f.seed.Second.Org.String()} {
		if !strings.HasSuffix(head, "\norganization "+org+"\n") || strings.Count(head, "\n") != 4 {
			t.Errorf("the head of %s is %q", org, head)
		}
	}
}

func TestHeadKeySurvivesARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.auditor().get(ledgerPath+"/key").want(200, "").at("data.key")
	if key != f.Keyring.VerifierKey() {
		t.Errorf("the key is %s, that of the keyring is %s", key, f.Keyring.VerifierKey())
	}
	f.restart()
	if again := f.session().get(ledgerPath+"/key").want(200, "").at("data.key"); again != key {
		t.Errorf("the key is %s, it was %s", again, key)
	}
	f.auditor().get(ledgerPath+"/key?x=1").want(422, "")
}

func TestProofIsRequestedBySequenceNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, _ := signedHead(t, f.auditor())
	tooLarge := fmt.Sprint(tree.N + 1)
	fieldError := func(name, detail string) string {
		return `{"errors":[{"code":"invalid","detail":"` + detail + `","field":"` + name + `"}]}`
	}
	outsideJournal := fmt.Sprintf(" must be from 1 to %d, the size of the journal", tree.N)
	for query, want := range map[string]string{
		"inclusion":                                fieldError("seq", "seq is required"),
		"inclusion?size=3":                         fieldError("seq", "seq is required"),
		"inclusion?seq=" + tooLarge:                fieldError("seq", fmt.Sprintf("seq must be from 1 to %d", tree.N)),
		"inclusion?seq=4&size=3":                   fieldError("seq", "seq must be from 1 to 3"),
		"inclusion?seq=1&size=" + tooLarge:         fieldError("size", "size"+outsideJournal),
		"inclusion?seq=1&from=1":                   fieldError("from", "Unexpected field"),
		"inclusion?seq=1&seq=1":                    fieldError("seq", "seq is there twice"),
		"consistency":                              fieldError("from", "from is required"),
		"consistency?to=3":                         fieldError("from", "from is required"),
		"consistency?from=" + tooLarge:             fieldError("from", fmt.Sprintf("from must be from 1 to %d", tree.N)),
		"consistency?from=4&to=3":                  fieldError("from", "from must be from 1 to 3"),
		"consistency?from=1&to=" + tooLarge:        fieldError("to", "to"+outsideJournal),
		"consistency?from=1&seq=1":                 fieldError("seq", "Unexpected field"),
		"consistency?from=1&to=2&to=2":             fieldError("to", "to is there twice"),
		"consistency?from=1&to=" + overInt64:       fieldError("to", "to must be a whole number from 1"),
		"inclusion?seq=" + overInt64:               fieldError("seq", "seq must be a whole number from 1"),
		"inclusion?seq=1&size=9223372036854775807": fieldError("size", "size"+outsideJournal),
	} {
		f.auditor().get(ledgerPath+"/proofs/"+query).want(422, want)
	}
	for _, bad := range []string{"0", "-1", "x", "1.0", "", "%2B5", "05", "1e3", "99999999999999999999", "%EF%BC%91", "0x1"} {
		for query, name := range map[string]string{
			"inclusion?seq=": "seq", "inclusion?seq=1&size=": "size", "consistency?from=": "from", "consistency?from=1&to=": "to",
		} {
			f.auditor().get(ledgerPath+"/proofs/"+query+bad).want(422, fieldError(name, name+" must be a whole number from 1"))
		}
	}
}

// overInt64 is the largest int64 plus one.
const overInt64 = "9223372036854775808"

func TestPartnerKeyGetsNoProofs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/key", "/proofs/inclusion?seq=1", "/proofs/consistency?from=1", "/proofs/inclusion?seq=0"} {
		f.partner().get(ledgerPath+path).want(403, `{"error":"forbidden","message":"this needs a session of role auditor or admin"}`)
		f.anyone().get(ledgerPath+path).want(401, `{"error":"unauthorized"}`)
	}
}
