package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func createKeyring(t *testing.T) *Keyring {
	t.Helper()
	k, err := CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func keyringField(t *testing.T, k *Keyring, name string) string {
	t.Helper()
	var value string
	if err := json.Unmarshal(k.fields[name], &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// oldKeyring is the keyring file of an old release, which had no sealing keys.
const oldKeyring = `{
  "fingerprint_key": "20UAjxHKXIVMtApFpQQ26K3YoPorEmHrupHwRG3p9No=",
  "head_skey": "PRIVATE+KEY+mizan+1ce84034+ARSeSWQponA3TJXWYYFyrpKGbhJNqpLbYpLztO71Rm7c",
  "head_vkey": "mizan+1ce84034+AW1xFsgr5i+bsErRXLr7DkaRdgnK+yiSz9qqCA8T+JNi",
  "version": 1
}
`

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantOwnerOnly checks that the file has mode 0600 and that its directory has no other file.
func wantOwnerOnly(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if names := fileNames(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the directory holds %q", names)
	}
}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestKeyringSurvivesARoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	created, err := CreateKeyring(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: "head\n"}, created.Signer())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(signed, note.VerifierList(loaded.Verifier())); err != nil {
		t.Errorf("what the made keyring signed, the read one does not verify: %v", err)
	}
	verifier, err := note.NewVerifier(loaded.VerifierKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(signed, note.VerifierList(verifier)); err != nil {
		t.Errorf("what the made keyring signed, its published key does not verify: %v", err)
	}
	if a, b := created.Fingerprint([]byte(canary)), loaded.Fingerprint([]byte(canary)); a != b {
		t.Errorf("fingerprints %s and %s", a, b)
	}
	if other := createKeyring(t); other.Fingerprint([]byte(canary)) == created.Fingerprint([]byte(canary)) || other.Verifier().KeyHash() == created.Verifier().KeyHash() {
		t.Error("two keyrings share a key")
	}
}

func TestKeyringIsReadableByItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	if _, err := CreateKeyring(path, rand.Reader); err != nil {
		t.Fatal(err)
	}
	wantOwnerOnly(t, path)
	for mode, isAccepted := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true,
		0o640: false, 0o604: false, 0o644: false, 0o660: false, 0o602: false, 0o610: false, 0o601: false,
	} {
		for name, load := range map[string]func(string) (*Keyring, error){
			"load": LoadKeyring, "load to seal": LoadSealingKeyring, "complete": CompleteKeyring, "rotate": RotateKeyring,
		} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, err := load(path)
			if (err == nil) != isAccepted {
				t.Errorf("%s, mode %04o: %v", name, mode, err)
			}
			if err != nil && !strings.Contains(err.Error(), "others than its owner can reach it; set it to 0600") {
				t.Errorf("%s, mode %04o: the error does not say what to do: %v", name, mode, err)
			}
		}
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	if err := os.WriteFile(path, []byte("not even a keyring"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateKeyring(path, rand.Reader); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a file: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "not even a keyring" {
		t.Errorf("the file is now %q, %v", content, err)
	}
	if names := fileNames(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the directory holds %q", names)
	}
}

func TestConcurrentCreatesHaveOneWinner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	created := make([]*Keyring, 64)
	var creators sync.WaitGroup
	for i := range created {
		creators.Go(func() {
			k, err := CreateKeyring(path, rand.Reader)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			created[i] = k
		})
	}
	creators.Wait()
	loaded, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	winners := 0
	for _, k := range created {
		if k != nil {
			winners++
			if k.Verifier().KeyHash() != loaded.Verifier().KeyHash() {
				t.Error("the winner's key is not the one on disk")
			}
		}
	}
	if winners != 1 {
		t.Errorf("%d creators won", winners)
	}
}

func TestUnknownFieldsSurviveARewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	const laterField = `{"primary":18446744073709551615,"keys":["a","b"]}`
	writeFile(t, path, strings.Replace(oldKeyring, "{", `{"later":`+laterField+",", 1))
	if _, err := RotateKeyring(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(oldKeyring), &before), json.Unmarshal(content, &after)); err != nil {
		t.Fatal(err)
	}
	var compacted bytes.Buffer
	if err := json.Compact(&compacted, after["later"]); err != nil || compacted.String() != laterField {
		t.Errorf("the field is %s, %v, want %s", compacted.String(), err, laterField)
	}
	for name := range before {
		if !bytes.Equal(before[name], after[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before)+2 {
		t.Errorf("%d fields became %d", len(before)+1, len(after))
	}
	wantOwnerOnly(t, path)
}

func TestFingerprintIsATruncatedHMAC(t *testing.T) {
	// The wanted value is the HMAC-SHA-256 of the padded text, computed by another program.
	k := &Keyring{fingerprints: newMACs([]byte("Jefe"))}
	if got, want := k.Fingerprint([]byte("what do ya want for nothing?")), "b80680e934bc239e0a66d9674a03b33e"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
}

func TestDamagedKeyringIsRefused(t *testing.T) {
	intact, other := createKeyring(t), createKeyring(t)
	otherVerifier := keyringField(t, other, fieldVerifierKey)
	namedSigner, namedVerifier, err := note.GenerateKey(rand.Reader, "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	signingKey := keyringField(t, intact, fieldSigningKey)
	for name, change := range map[string]func(fields map[string]any){
		"no version":            func(f map[string]any) { delete(f, fieldVersion) },
		"version 2":             func(f map[string]any) { f[fieldVersion] = 2 },
		"version as text":       func(f map[string]any) { f[fieldVersion] = "1" },
		"no signing key":        func(f map[string]any) { delete(f, fieldSigningKey) },
		"null signing key":      func(f map[string]any) { f[fieldSigningKey] = nil },
		"cut signing key":       func(f map[string]any) { f[fieldSigningKey] = signingKey[:len(signingKey)-8] },
		"another's name":        func(f map[string]any) { f[fieldSigningKey], f[fieldVerifierKey] = namedSigner, namedVerifier },
		"another's verifier":    func(f map[string]any) { f[fieldVerifierKey] = otherVerifier },
		"no verifier":           func(f map[string]any) { delete(f, fieldVerifierKey) },
		"no fingerprint key":    func(f map[string]any) { delete(f, fieldFingerprintKey) },
		"short fingerprint key": func(f map[string]any) { f[fieldFingerprintKey] = make([]byte, 31) },
		"fingerprint not text":  func(f map[string]any) { f[fieldFingerprintKey] = 7 },
		"null sealing keys":     func(f map[string]any) { f[fieldSealingKeys] = nil },
		"sealing keys as text":  func(f map[string]any) { f[fieldSealingKeys] = signingKey },
		"empty sealing keys":    func(f map[string]any) { f[fieldSealingKeys] = map[string]any{} },
		"no primary key":        func(f map[string]any) { sealingKeys(f)["primaryKeyId"] = 7 },
		"no enabled key":        func(f map[string]any) { firstSealingKey(f)["status"] = "DISABLED" },
		"cut sealing key":       func(f map[string]any) { firstSealingKeyData(f)["value"] = "GiAA" },
		"sealing key not text":  func(f map[string]any) { firstSealingKeyData(f)["value"] = 7 },
		"a key of another kind": func(f map[string]any) {
			firstSealingKeyData(f)["typeUrl"] = "type.googleapis.com/google.crypto.tink.HmacKey"
		},
	} {
		t.Run(name, func(t *testing.T) {
			var fields map[string]any
			if err := json.Unmarshal(intact.encode(), &fields); err != nil {
				t.Fatal(err)
			}
			change(fields)
			content, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			wantRefused(t, content, signingKey)
		})
	}
	for name, content := range map[string][]byte{
		"empty": nil, "null": []byte("null"), "a list": []byte("[]"), "text": []byte(signingKey),
		"cut":      intact.encode()[:200],
		"too long": append(intact.encode(), bytes.Repeat([]byte{' '}, maxPrivateBytes)...),
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, content, signingKey) })
	}
}

func sealingKeys(fields map[string]any) map[string]any {
	return fields[fieldSealingKeys].(map[string]any)
}

func firstSealingKey(fields map[string]any) map[string]any {
	return sealingKeys(fields)["key"].([]any)[0].(map[string]any)
}

func firstSealingKeyData(fields map[string]any) map[string]any {
	return firstSealingKey(fields)["keyData"].(map[string]any)
}

func wantRefused(t *testing.T, content []byte, signingKey string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyring")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func(string) (*Keyring, error){
		"load": LoadKeyring, "load to seal": LoadSealingKeyring, "complete": CompleteKeyring, "rotate": RotateKeyring,
	} {
		_, err := load(path)
		if err == nil {
			t.Fatalf("%s took it", name)
		}
		if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), signingKey[len(signingKey)-40:]) {
			t.Errorf("%s: the error does not name the file, or shows the key: %v", name, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
		t.Errorf("the damaged file was changed: %v", err)
	}
}

func TestMissingKeyringIsNotExist(t *testing.T) {
	for name, load := range map[string]func(string) (*Keyring, error){
		"load": LoadKeyring, "load to seal": LoadSealingKeyring, "complete": CompleteKeyring, "rotate": RotateKeyring,
	} {
		dir := t.TempDir()
		if _, err := load(filepath.Join(dir, "keyring")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", name, err)
		}
		if names := fileNames(t, dir); len(names) != 0 {
			t.Errorf("%s made %q", name, names)
		}
		if _, err := load(dir); err == nil {
			t.Errorf("%s took a directory", name)
		}
	}
}

func TestKeyringNeedsRandomness(t *testing.T) {
	for _, n := range []int{0, 31, 32, 63} {
		path := filepath.Join(t.TempDir(), "keyring")
		if _, err := CreateKeyring(path, bytes.NewReader(make([]byte, n))); err == nil {
			t.Errorf("a keyring was made from %d bytes", n)
		}
		if names := fileNames(t, filepath.Dir(path)); len(names) != 0 {
			t.Errorf("with %d bytes the directory holds %q", n, names)
		}
	}
}

func TestKeyringFileHasTheDocumentedForm(t *testing.T) {
	k := createKeyring(t)
	var fields struct {
		Version     int    `json:"version"`
		Skey        string `json:"head_skey"`
		Vkey        string `json:"head_vkey"`
		Fingerprint string `json:"fingerprint_key"`
		Sealing     struct {
			Primary uint32 `json:"primaryKeyId"`
			Keys    []struct {
				ID     uint32 `json:"keyId"`
				Status string `json:"status"`
				Data   struct {
					Type  string `json:"typeUrl"`
					Value string `json:"value"`
				} `json:"keyData"`
			} `json:"key"`
		} `json:"sealing_keys"`
	}
	if err := json.Unmarshal(k.encode(), &fields); err != nil {
		t.Fatal(err)
	}
	const kind = "type.googleapis.com/google.crypto.tink.XChaCha20Poly1305Key"
	if s := fields.Sealing; len(s.Keys) != 1 || s.Keys[0].ID != s.Primary || s.Keys[0].Status != "ENABLED" || s.Keys[0].Data.Type != kind {
		t.Errorf("%d sealing keys, primary %d", len(s.Keys), s.Primary)
	}
	key, err := base64.StdEncoding.DecodeString(fields.Fingerprint)
	if err != nil || !bytes.Equal(key, k.fingerprintKey) {
		t.Errorf("fingerprint key %s, %v", hex.EncodeToString(key), err)
	}
	if fields.Version != 1 || !strings.HasPrefix(fields.Skey, "PRIVATE+KEY+mizan+") || !strings.HasPrefix(fields.Vkey, "mizan+") {
		t.Errorf("version %d, verifier %s", fields.Version, fields.Vkey)
	}
}
