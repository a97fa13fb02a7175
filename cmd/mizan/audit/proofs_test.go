package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// otherKey is the key of a keyring that no server in these tests has.
const otherKey = "mizan+1ce84034+AW1xFsgr5i+bsErRXLr7DkaRdgnK+yiSz9qqCA8T+JNi"

// noServer is an environment that names no server.
var noServer = []string{"MIZAN_URL=", "MIZAN_SESSION_TOKEN=", "MIZAN_ORGANIZATION=", "MIZAN_CA_FILE="}

// wantExit runs the command line, and checks its exit code and that stderr contains a text.
func wantExit(t *testing.T, exit int, stderr string, args ...string) testkit.Result {
	t.Helper()
	r := testkit.Run(t, noServer, args...)
	if r.Exit != exit || !strings.Contains(r.Stderr, stderr) || exit != 0 && r.Stdout != "" {
		t.Errorf("%v ended with %d, want %d: %q, want %q in it\n%s", args, r.Exit, exit, r.Stderr, stderr, r.Stdout)
	}
	return r
}

// entrySeq returns the sequence number of a payment's entry in the journal.
func entrySeq(t *testing.T, s *testkit.Server, paymentID string) string {
	t.Helper()
	answer, err := s.Auditor().Get("/api/v1/ledger/entries?env=test&source=" + paymentID)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Rows []struct {
			Seq rawNumber `json:"seq"`
		} `json:"data"`
	}
	if err := answer.JSON(&list); err != nil || len(list.Rows) != 1 {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	return string(list.Rows[0].Seq)
}

// rawNumber is a JSON number as text.
type rawNumber string

// UnmarshalJSON implements json.Unmarshaler.
func (n *rawNumber) UnmarshalJSON(text []byte) error {
	*n = rawNumber(text)
	return nil
}

func TestEventProofIsCheckedOffline(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	id := testkit.Pay(t, server.Partner(), "order-1")
	seq := entrySeq(t, server, id)
	file := filepath.Join(t.TempDir(), "proof")

	key := strings.TrimSpace(testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "key", "--data", server.Dir)))
	if serverKey := strings.TrimSpace(testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "key", "--sandbox", server.Dir))); serverKey != key || !strings.HasPrefix(key, "mizan+") {
		t.Fatalf("the keyring's key is %q, the server's %q", key, serverKey)
	}
	wantExit(t, 0, "proves event "+seq, "audit", "prove", seq, "--sandbox", server.Dir, "--out", file, "--key", key)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantExit(t, 2, "--out: "+file+" is there already", "audit", "prove", seq, "--sandbox", server.Dir, "--out", file)
	server.Stop()
	if err := os.RemoveAll(server.Dir); err != nil {
		t.Fatal(err)
	}

	output := testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "check", file, "--key", key))
	for _, want := range []string{
		"Proven: this is event " + seq + " of the journal of organization " + server.Sandbox.OrganizationID, "transaction " + id,
		"debit   A:provider:", "credit  L:partner:1:available",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	wantExit(t, 4, "mizan: audit check: refused: the head is signed with another key", "audit", "check", file, "--key", otherKey)
	testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "check", file, "--key", key, "--organization", server.Sandbox.OrganizationID))
	wantExit(t, 4, "refused: the file is of organization "+server.Sandbox.OrganizationID, "audit", "check", file, "--key", key,
		"--organization", server.Sandbox.Second.OrganizationID)
	// `audit check` also compares the part of the proof's file that people read with the proven event.
	spoiltFile := filepath.Join(t.TempDir(), "spoilt")
	if err := os.WriteFile(spoiltFile, bytes.Replace(content, []byte(`"side": "debit"`), []byte(`"side": "credit"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	wantExit(t, 4, "mizan: audit check: refused: the file differs from the encoding of its proof", "audit", "check", spoiltFile, "--key", key)
}

func TestRecordProofUsesItsLastEvent(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	seq := entrySeq(t, server, testkit.Pay(t, server.Partner(), "order-1"))
	folder, org := t.TempDir(), server.Sandbox.OrganizationID
	file, recordFile := filepath.Join(folder, "proof"), filepath.Join(folder, "record")
	key := strings.TrimSpace(testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "key", "--data", server.Dir)))
	wantExit(t, 0, "proves event "+seq, "audit", "prove", seq, "--sandbox", server.Dir, "--out", file, "--key", key)
	wantExit(t, 3, "mizan: locked: ", "audit", "record", seq, "--data", server.Dir, "--organization", org, "--out", recordFile)
	server.Stop()

	wantExit(t, 0, "`mizan audit prove "+seq+"` proves it", "audit", "record", seq, "--data", server.Dir, "--organization", org, "--out", recordFile)
	output := testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "check", file, "--key", key, "--record", recordFile))
	for _, want := range []string{"Proven: this is event " + seq, "Proven too: " + recordFile + " is what was stored of the record after the event."} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	content, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	spoiltFile := filepath.Join(folder, "spoilt")
	if err := os.WriteFile(spoiltFile, content, 0o600); err != nil {
		t.Fatal(err)
	}
	wantExit(t, 4, "mizan: audit check: refused: the record is not what was stored after event "+seq, "audit", "check", file, "--key", key, "--record", spoiltFile)
	wantExit(t, 2, "audit check: --record: ", "audit", "check", file, "--key", key, "--record", filepath.Join(folder, "absent"))
	wantExit(t, 2, "--out: "+recordFile+" is there already", "audit", "record", seq, "--data", server.Dir, "--organization", org, "--out", recordFile)
	otherFile := filepath.Join(folder, "other")
	wantExit(t, 2, "event 1000000 is not in the journal", "audit", "record", "1000000", "--data", server.Dir, "--organization", org, "--out", otherFile)
	wantExit(t, 2, "--organization: \"first\" is not the UUID", "audit", "record", seq, "--data", server.Dir, "--organization", "first", "--out", otherFile)
	wantExit(t, 1, "mizan: storage: ", "audit", "record", seq, "--data", folder, "--organization", org, "--out", otherFile)
}

func TestFailedProofLeavesNoFile(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	out := filepath.Join(t.TempDir(), "proof")
	wantFailure := func(exit int, stderr string, args ...string) {
		t.Helper()
		wantExit(t, exit, stderr, append([]string{"audit", "prove", "--out", out}, args...)...)
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v left a file", args)
		}
	}
	wantFailure(2, "mizan: audit prove: seq: must be a whole number from 1", "0", "--sandbox", server.Dir)
	wantFailure(2, "mizan: audit prove: seq: must be from 1 to", "1000000", "--sandbox", server.Dir)
	wantFailure(2, "mizan: configuration: ", "one", "--sandbox", server.Dir)
	wantFailure(2, "mizan: audit prove: --key: the key", "1", "--sandbox", server.Dir, "--key", "no key")
	wantFailure(4, "mizan: audit prove: refused: the head is signed with another key", "1", "--sandbox", server.Dir, "--key", otherKey)
	wantFailure(2, "unauthorized", "1", "--sandbox", server.Dir, "--organization", server.Sandbox.Second.OrganizationID)
	wantFailure(2, "--organization: \"first\" is not a UUID", "1", "--sandbox", server.Dir, "--organization", "first")
	wantFailure(2, "there is no session token", "1", "--url", server.BaseURL, "--organization", server.Sandbox.OrganizationID)
	server.Stop()
	wantFailure(1, "mizan: audit prove: "+server.Sandbox.BaseURL, "1", "--sandbox", server.Dir)
	absentFile := filepath.Join(t.TempDir(), "absent")
	wantExit(t, 2, "mizan: audit check: open "+absentFile, "audit", "check", absentFile, "--key", otherKey)
	wantExit(t, 2, "mizan: audit check: --key: the key", "audit", "check", absentFile, "--key", "no key")
	wantExit(t, 2, "mizan: configuration: ", "audit", "key", "--data", absentFile)
}
