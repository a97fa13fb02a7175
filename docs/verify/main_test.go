package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// makeProofs returns the proofs of the first events of a server with payments, and the server's
// key.
func makeProofs(t *testing.T) (files [][]byte, key string) {
	t.Helper()
	server := testkit.Start(t, testkit.Options{})
	for n := range 3 {
		answer, err := server.Partner().Post("/api/v1/transactions", map[string]any{"params": map[string]any{
			"txid": fmt.Sprint("order-", n), "type": "payment", "amount": "1250", "currency": "USD", "env": "test",
			"returnUrl": "https://shop.example/ok", "failUrl": "https://shop.example/no",
			"money_storage": map[string]any{
				"type": "bank_card", "cardnumber": "4242424242424242", "cardholder": "A Payer", "exp_month": "12", "exp_year": "2030", "cvv": "123",
			},
		}})
		if err != nil || answer.Status != 201 {
			t.Fatalf("%v: %s", err, answer.Body)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		r := testkit.Run(t, nil, args...)
		if r.Exit != 0 {
			t.Fatalf("%v ended with %d: %s", args, r.Exit, r.Stderr)
		}
		return r.Stdout
	}
	key = strings.TrimSpace(run("audit", "key", "--data", server.Dir))
	for seq := 1; seq <= 8; seq++ {
		path := filepath.Join(t.TempDir(), "proof")
		run("audit", "prove", fmt.Sprint(seq), "--sandbox", server.Dir, "--out", path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, content)
	}
	return files, key
}

func TestAServersProofsAreVerifiedWithNoCodeOfItsOwn(t *testing.T) {
	files, key := makeProofs(t)
	for i, file := range files {
		output, err := verify(file, key, nil)
		if err != nil || !strings.HasPrefix(string(output), fmt.Sprintf("proven: event %d of organization ", i+1)) {
			t.Errorf("event %d: %v\n%s", i+1, err, output)
		}
		// The leaf is replaced by another event's leaf, and then the proof by another event's proof.
		other := files[(i+1)%len(files)]
		for _, member := range []string{`"leaf"`, `"proof"`} {
			if output, err := verify(bytes.Replace(file, memberText(file, member), memberText(other, member), 1), key, nil); err == nil {
				t.Errorf("event %d with another's %s: %s", i+1, member, output)
			}
		}
	}
	const otherKey = "mizan+1ce84034+AW1xFsgr5i+bsErRXLr7DkaRdgnK+yiSz9qqCA8T+JNi"
	if output, err := verify(files[0], otherKey, nil); err == nil {
		t.Errorf("by another key: %s", output)
	}
	for _, bad := range []string{"", "{}", "[]", "null", `{"head":"x"}`} {
		if output, err := verify([]byte(bad), key, nil); err == nil {
			t.Errorf("%q: %s", bad, output)
		}
	}
	if output, err := verify(files[0], "key", nil); err == nil {
		t.Errorf("by no key: %s", output)
	}
}

// memberText returns a member of the JSON file, from the member's name up to the next member's name.
func memberText(file []byte, member string) []byte {
	_, rest, _ := bytes.Cut(file, []byte(member))
	value, _, _ := bytes.Cut(rest, []byte("\n  \""))
	return append([]byte(member), value...)
}

// A valid signature is not enough: the signed text must be a head, and the leaf an event of its
// tree.
func TestWhatTheKeyHasSignedHasOneForm(t *testing.T) {
	privateKey, publicKey, err := note.GenerateKey(rand.Reader, "mizan")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(privateKey)
	if err != nil {
		t.Fatal(err)
	}
	// verifySigned returns what verify says about a signed file whose event is the only one in the tree.
	verifySigned := func(leaf []byte, root tlog.Hash, organizationLine string, record []byte) (string, error) {
		head, err := note.Sign(&note.Note{Text: string(tlog.FormatTree(tlog.Tree{N: 1, Hash: root})) + organizationLine}, signer)
		if err != nil {
			t.Fatal(err)
		}
		file, err := json.Marshal(map[string]any{"leaf": leaf, "proof": []tlog.Hash{}, "head": string(head)})
		if err != nil {
			t.Fatal(err)
		}
		proven, err := verify(file, publicKey, record)
		return string(proven), err
	}
	const organizationLine = "organization 7c2b\n"
	leaf := []byte{3, 0, 1, 7}
	if got, err := verifySigned(leaf, tlog.RecordHash(leaf), organizationLine, nil); err != nil || !strings.HasPrefix(got, `proven: event 1 of organization "7c2b" is in its journal of 1 events`) {
		t.Errorf("%s, %v", got, err)
	}
	for name, c := range map[string]struct{ leaf, organizationLine string }{
		"no organization line":          {"\x03\x00\x01\x07", ""},
		"a partner's line":              {"\x03\x00\x01\x07", "partner number 7c2b\n"},
		"a further line":                {"\x03\x00\x01\x07", organizationLine + "and more\n"},
		"a leaf of another form":        {"\x02\x00\x01\x07", organizationLine},
		"a leaf that is too short":      {"\x03\x00", organizationLine},
		"seq 0":                         {"\x03\x00\x00\x07", organizationLine},
		"a seq above the tree's size":   {"\x03\x00\x02\x07", organizationLine},
		"a seq without an end":          {"\x03\x00" + strings.Repeat("\xff", 10) + "\x07", organizationLine},
		"a record's hash without a seq": {"\x03\x02" + strings.Repeat("\x01", 32), organizationLine},
	} {
		if got, err := verifySigned([]byte(c.leaf), tlog.RecordHash([]byte(c.leaf)), c.organizationLine, nil); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, err := verifySigned([]byte{3, 0, 1, 8}, tlog.RecordHash(leaf), organizationLine, nil); err == nil {
		t.Errorf("another leaf: %s", got)
	}

	record := []byte("what was stored")
	sum := sha256.Sum256(record)
	leafWithRecord := append(append([]byte{3, 2}, sum[:]...), 1, 7)
	if got, err := verifySigned(leafWithRecord, tlog.RecordHash(leafWithRecord), organizationLine, record); err != nil || !strings.Contains(got, "and the record is what was stored with it") {
		t.Errorf("with its record: %s, %v", got, err)
	}
	for name, c := range map[string]struct{ leaf, record []byte }{
		"another record":                          {leafWithRecord, []byte("what was not stored")},
		"an empty record":                         {leafWithRecord, []byte{}},
		"a record of an event without one":        {leaf, record},
		"a hash without the bit for it":           {append(append([]byte{3, 0, 1}, sum[:]...), 7), record},
		"a hash where the seq should be":          {append([]byte{3, 2, 1}, sum[:]...), record},
		"an empty record of an event without one": {leaf, []byte{}},
	} {
		if got, err := verifySigned(c.leaf, tlog.RecordHash(c.leaf), organizationLine, c.record); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestTheAuditorsStepsAreTrue runs all shell blocks of docs/audit.md as one script, in a
// directory with the files that they expect.
func TestTheAuditorsStepsAreTrue(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	server := testkit.Start(t, testkit.Options{})
	workDir := t.TempDir()
	if err := os.Mkdir(filepath.Join(workDir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"data": server.Dir, filepath.Join("bin", "mizan"): testkit.Binary(t)} {
		if err := os.Symlink(target, filepath.Join(workDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	guide, err := os.ReadFile(filepath.Join("..", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, blocks := "set -e\n", regexp.MustCompile("(?ms)^```sh$(.*?)^```$").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) != 5 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		script += block[1]
	}
	scriptRun := exec.Command(shell, "-c", script)
	scriptRun.Dir = workDir
	out, err := scriptRun.CombinedOutput()
	for _, want := range []string{"mizan+", "the watch begins", "extends the", "proves event 7 ", "Proven: this is event 7 "} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v, and no %q in\n%s", err, want, out)
		}
	}
}

func TestTheVerifierIsShortAndHasNoCodeOfTheProject(t *testing.T) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, "main.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range syntax.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if strings.Contains(path, ".") && !strings.HasPrefix(path, "golang.org/x/mod/") || strings.HasPrefix(path, "mizan") {
			t.Errorf("it imports %s", path)
		}
	}
	content, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	const maxProofLines, maxRecordLines = 80, 10 // lines for verifying the proof, and for comparing the record
	if lines := bytes.Count(content, []byte("\n")); lines > maxProofLines+maxRecordLines {
		t.Errorf("it has %d lines", lines)
	}
}
