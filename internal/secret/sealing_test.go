package secret

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// sealingContext is the context of the ciphertexts in these tests.
var sealingContext = []byte("an organization, and a record of")

func sealText(t *testing.T, k *Keyring, plaintext string) []byte {
	t.Helper()
	sealed, err := k.Seal([]byte(plaintext), sealingContext)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// wantOpens checks that the keyring opens a ciphertext that was sealed with sealingContext.
func wantOpens(t *testing.T, k *Keyring, sealed []byte, want string) {
	t.Helper()
	if got, err := k.Open(sealed, sealingContext); err != nil || string(got) != want {
		t.Errorf("opened as %q, %v, want %q", got, err, want)
	}
}

// idOfSealingKey returns the id of the key that has sealed the ciphertext. tink begins a ciphertext with a byte 1 and this
// id.
func idOfSealingKey(sealed []byte) uint32 { return binary.BigEndian.Uint32(sealed[1:]) }

func primaryKeyID(t *testing.T, k *Keyring) uint32 {
	t.Helper()
	var found []uint32
	for _, key := range k.SealingKeys() {
		if key.IsPrimary {
			found = append(found, key.ID)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d keys are primary", len(found))
	}
	return found[0]
}

func TestCiphertextOpensInItsContextOnly(t *testing.T) {
	k := createKeyring(t)
	sealed := sealText(t, k, canary)
	wantOpens(t, k, sealed, canary)
	for name, context := range map[string][]byte{
		"another record": []byte("an organization, and a record oF"), "no context": nil, "shorter": sealingContext[:31], "longer": append(bytes.Clone(sealingContext), 0),
	} {
		if got, err := k.Open(sealed, context); !errors.Is(err, ErrCannotOpen) || got != nil {
			t.Errorf("%s: opened as %q, %v", name, got, err)
		}
	}
	if _, err := createKeyring(t).Open(sealed, sealingContext); !errors.Is(err, ErrCannotOpen) {
		t.Errorf("another keyring: %v", err)
	}
	wantOpens(t, k, sealText(t, k, ""), "")
}

func TestChangedCiphertextIsRefused(t *testing.T) {
	k := createKeyring(t)
	sealed := sealText(t, k, canary)
	for i := range len(sealed) * 8 {
		changed := bytes.Clone(sealed)
		changed[i/8] ^= 1 << (i % 8)
		if _, err := k.Open(changed, sealingContext); !errors.Is(err, ErrCannotOpen) {
			t.Errorf("bit %d flipped: %v", i, err)
		}
	}
	for n := range sealed {
		if _, err := k.Open(sealed[:n], sealingContext); !errors.Is(err, ErrCannotOpen) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := k.Open(append(bytes.Clone(sealed), 0), sealingContext); !errors.Is(err, ErrCannotOpen) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestCiphertextRevealsNothing(t *testing.T) {
	k := createKeyring(t)
	first, second := sealText(t, k, canary), sealText(t, k, canary)
	if bytes.Equal(first[5:], second[5:]) || leaks(string(first)+string(second), canary) || leaks(string(first), string(sealingContext)) {
		t.Error("the plaintext or the context shows, or two seals of one text are equal")
	}
}

func TestSealingNeedsAContext(t *testing.T) {
	defer func() {
		if text := recover(); text == nil || leaks(text.(string), canary) {
			t.Errorf("sealing without a context said %v", text)
		}
	}()
	_, _ = createKeyring(t).Seal([]byte(canary), nil)
}

func TestKeyringWithoutSealingKeyLoadsAndReportsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	k, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if k.CanSeal() || len(k.SealingKeys()) != 0 {
		t.Error("a keyring without a sealing key reports that it can seal")
	}
	// The wanted fingerprint is the HMAC-SHA-256 of the padded number with the fingerprint key of oldKeyring, computed by
	// another program.
	if got, want := k.Fingerprint([]byte(canary)), "a8fd405617302ed8f771a20d89c567f0"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	_, sealErr := k.Seal([]byte(canary), sealingContext)
	_, openErr := k.Open([]byte("sealed"), sealingContext)
	_, sealCardErr := k.SealCard(&Card{Number: []byte(canary)}, sealingContext)
	_, openCardErr := k.OpenCard([]byte("sealed"), sealingContext)
	for _, err := range []error{sealErr, openErr, sealCardErr, openCardErr} {
		if !errors.Is(err, ErrNoSealingKey) {
			t.Errorf("error %v", err)
		}
	}
}

func TestReadOnlyKeyringMustBeComplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	_, err := LoadSealingKeyring(path)
	if !errors.Is(err, ErrNoSealingKey) || !strings.Contains(err.Error(), "`mizan keys rotate --keyring "+path+"`") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != oldKeyring {
		t.Errorf("the file was changed: %v", err)
	}
	if _, err := RotateKeyring(path); err != nil {
		t.Fatal(err)
	}
	if k, err := LoadSealingKeyring(path); err != nil || !k.CanSeal() {
		t.Errorf("after the rotation: %v", err)
	}
}

func TestCompletingAddsTheMissingKeyOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	first, err := CompleteKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	wantOwnerOnly(t, path)
	sealed := sealText(t, first, canary)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := CompleteKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	wantOpens(t, second, sealed, canary)
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || len(second.SealingKeys()) != 1 {
		t.Errorf("a complete keyring was rewritten: %v, %d keys", err, len(second.SealingKeys()))
	}
}

func TestRotationMakesAPrimaryKeyAndKeepsTheOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	ids, ciphertexts := []uint32{}, [][]byte{}
	for range 3 {
		rotated, err := RotateKeyring(path)
		if err != nil {
			t.Fatal(err)
		}
		wantOwnerOnly(t, path)
		loaded, err := LoadKeyring(path)
		if err != nil {
			t.Fatal(err)
		}
		sealed := sealText(t, rotated, canary)
		ids, ciphertexts = append(ids, idOfSealingKey(sealed)), append(ciphertexts, sealed)
		want := make([]SealingKey, len(ids))
		for i, id := range ids {
			want[i] = SealingKey{ID: id, IsPrimary: i == len(ids)-1, IsEnabled: true}
		}
		if !slices.Equal(rotated.SealingKeys(), want) || !slices.Equal(loaded.SealingKeys(), want) {
			t.Errorf("the keys are %v, in the file %v, want %v", rotated.SealingKeys(), loaded.SealingKeys(), want)
		}
		for _, sealed := range ciphertexts {
			wantOpens(t, loaded, sealed, canary)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
		t.Errorf("3 rotations made the keys %v", ids)
	}
}

func TestRotationChangesTheSealingKeysOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	before, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := RotateKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	token := before.PageTokens().Issue("page", organization, record, noon)
	if before.Fingerprint([]byte(canary)) != after.Fingerprint([]byte(canary)) ||
		before.Verifier().KeyHash() != after.Verifier().KeyHash() ||
		!bytes.Equal(before.Derive("x"), after.Derive("x")) ||
		after.PageTokens().Check("page", organization, record, token, noon.Add(-1e9)) != nil {
		t.Error("a rotation changed another key")
	}
	if before.CanSeal() {
		t.Error("a rotation changed a keyring that was loaded before")
	}
}

func TestDisabledKeyIsListedAndOpensNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	first, err := CreateKeyring(path, bytes.NewReader(make([]byte, 64)))
	if err != nil {
		t.Fatal(err)
	}
	sealed := sealText(t, first, canary)
	second, err := RotateKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(second.encode(), &fields); err != nil {
		t.Fatal(err)
	}
	firstSealingKey(fields)["status"] = "DISABLED"
	content, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, string(content))
	third, err := RotateKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []SealingKey{{ID: idOfSealingKey(sealed)}, {ID: primaryKeyID(t, second), IsEnabled: true}, {ID: primaryKeyID(t, third), IsPrimary: true, IsEnabled: true}}
	if got := third.SealingKeys(); !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
	if _, err := third.Open(sealed, sealingContext); !errors.Is(err, ErrCannotOpen) {
		t.Errorf("a disabled key opened: %v", err)
	}
}

// TestConcurrentStartsAndRotationsLoseNoKey seals a text immediately after each start of a server and each rotation. The
// keyring file must open every ciphertext at the end.
func TestConcurrentStartsAndRotationsLoseNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	const rotations = 12
	ciphertexts := make(chan []byte, 2*rotations)
	var processes sync.WaitGroup
	for range rotations {
		for _, load := range []func(string) (*Keyring, error){CompleteKeyring, RotateKeyring} {
			processes.Go(func() {
				k, err := load(path)
				if err != nil {
					t.Error(err)
					return
				}
				sealed, err := k.Seal([]byte(canary), sealingContext)
				if err != nil {
					t.Error(err)
				}
				ciphertexts <- sealed
			})
		}
	}
	processes.Wait()
	close(ciphertexts)
	last, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	for sealed := range ciphertexts {
		wantOpens(t, last, sealed, canary)
	}
	// A start adds a key only if no rotation and no other start has added one.
	if n := len(last.SealingKeys()); n != rotations && n != rotations+1 {
		t.Errorf("%d keys after %d rotations", n, rotations)
	}
	wantOwnerOnly(t, path)
}

func TestConcurrentStartsMakeOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	const starts = 24
	ciphertexts := make(chan []byte, starts)
	var processes sync.WaitGroup
	for range starts {
		processes.Go(func() {
			k, err := CompleteKeyring(path)
			if err != nil {
				t.Error(err)
				return
			}
			sealed, err := k.Seal([]byte(canary), sealingContext)
			if err != nil {
				t.Error(err)
			}
			ciphertexts <- sealed
		})
	}
	processes.Wait()
	close(ciphertexts)
	last, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(last.SealingKeys()); n != 1 {
		t.Errorf("%d starts made %d keys", starts, n)
	}
	for sealed := range ciphertexts {
		wantOpens(t, last, sealed, canary)
	}
}

func TestRotationFollowsALinkAndRemovesLeftovers(t *testing.T) {
	targetDir, linkDir := t.TempDir(), t.TempDir()
	path, link := filepath.Join(targetDir, "keys"), filepath.Join(linkDir, "keyring")
	writeFile(t, path, oldKeyring)
	writeFile(t, filepath.Join(targetDir, ".keys.12.tmp"), "half a keyr")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := RotateKeyring(link); err != nil {
		t.Fatal(err)
	}
	wantOwnerOnly(t, path)
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if k, err := LoadKeyring(path); err != nil || len(k.SealingKeys()) != 1 {
		t.Errorf("the file was not rotated: %v", err)
	}
}

func TestKeyringHasUpTo1000SealingKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	keys := keyset.NewManager()
	for range 999 {
		id, err := keys.Add(aead.XChaCha20Poly1305KeyTemplate())
		if err = errors.Join(err, keys.SetPrimary(id)); err != nil {
			t.Fatal(err)
		}
	}
	handle, err := keys.Handle()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, strings.Replace(oldKeyring, "{", `{"sealing_keys":`+string(encodeSealingKeys(handle))+",", 1))
	if k, err := RotateKeyring(path); err != nil || len(k.SealingKeys()) != 1000 {
		t.Fatalf("rotation 1000: %v", err)
	}
	if _, err := RotateKeyring(path); err == nil || !strings.HasSuffix(err.Error(), path+": sealing_keys has 1000 keys already") {
		t.Errorf("rotation 1001: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxPrivateBytes/2 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	k, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	wantOpens(t, k, sealText(t, k, canary), canary)
}
