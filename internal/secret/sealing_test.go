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
	s, err := k.Seal([]byte(plaintext), sealingContext)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantOpens checks that the keyring opens a ciphertext that was sealed with sealingContext.
func wantOpens(t *testing.T, k *Keyring, sealed []byte, want string) {
	t.Helper()
	if got, err := k.Open(sealed, sealingContext); err != nil || string(got) != want {
		t.Errorf("opened as %q, %v, want %q", got, err, want)
	}
}

// keyOf returns the id of the key that sealed: tink's prefix is 1 and the key's id.
func keyOf(sealed []byte) uint32 { return binary.BigEndian.Uint32(sealed[1:]) }

func primary(t *testing.T, k *Keyring) uint32 {
	t.Helper()
	var found []uint32
	for _, key := range k.SealingKeys() {
		if key.Primary {
			found = append(found, key.ID)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d keys are primary", len(found))
	}
	return found[0]
}

func TestCiphertextOpensInItsContextOnly(t *testing.T) {
	k := create(t)
	s := sealText(t, k, canary)
	wantOpens(t, k, s, canary)
	for name, context := range map[string][]byte{
		"another record": []byte("an organization, and a record oF"), "no context": nil, "shorter": sealingContext[:31], "longer": append(bytes.Clone(sealingContext), 0),
	} {
		if got, err := k.Open(s, context); !errors.Is(err, ErrUnopened) || got != nil {
			t.Errorf("%s: opened as %q, %v", name, got, err)
		}
	}
	if _, err := create(t).Open(s, sealingContext); !errors.Is(err, ErrUnopened) {
		t.Errorf("another keyring: %v", err)
	}
	wantOpens(t, k, sealText(t, k, ""), "")
}

func TestChangedCiphertextIsRefused(t *testing.T) {
	k := create(t)
	s := sealText(t, k, canary)
	for i := range len(s) * 8 {
		changed := bytes.Clone(s)
		changed[i/8] ^= 1 << (i % 8)
		if _, err := k.Open(changed, sealingContext); !errors.Is(err, ErrUnopened) {
			t.Errorf("bit %d flipped: %v", i, err)
		}
	}
	for n := range s {
		if _, err := k.Open(s[:n], sealingContext); !errors.Is(err, ErrUnopened) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := k.Open(append(bytes.Clone(s), 0), sealingContext); !errors.Is(err, ErrUnopened) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestCiphertextRevealsNothing(t *testing.T) {
	k := create(t)
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
	_, _ = create(t).Seal([]byte(canary), nil)
}

func TestKeyringWithoutSealingKeyLoadsAndReportsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	write(t, path, oldKeyring)
	k, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if k.CanSeal() || len(k.SealingKeys()) != 0 {
		t.Error("it seems to have a sealing key")
	}
	// The HMAC-SHA-256 of the padded text with the key above, computed by another program.
	if got, want := k.Fingerprint([]byte(canary)), "a8fd405617302ed8f771a20d89c567f0"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	_, sealing := k.Seal([]byte(canary), sealingContext)
	_, opening := k.Open([]byte("sealed"), sealingContext)
	_, sealingCard := k.SealCard(&Card{Number: []byte(canary)}, sealingContext)
	_, openingCard := k.OpenCard([]byte("sealed"), sealingContext)
	for _, err := range []error{sealing, opening, sealingCard, openingCard} {
		if !errors.Is(err, ErrNoSealingKey) {
			t.Errorf("error %v", err)
		}
	}
}

func TestReadOnlyKeyringMustBeComplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	write(t, path, oldKeyring)
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
	write(t, path, oldKeyring)
	first, err := CompleteKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	wantOwnerOnly(t, path)
	s := sealText(t, first, canary)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := CompleteKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	wantOpens(t, second, s, canary)
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || len(second.SealingKeys()) != 1 {
		t.Errorf("a complete keyring was rewritten: %v, %d keys", err, len(second.SealingKeys()))
	}
}

func TestRotationMakesAPrimaryKeyAndKeepsTheOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	write(t, path, oldKeyring)
	ids, texts := []uint32{}, [][]byte{}
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
		s := sealText(t, rotated, canary)
		ids, texts = append(ids, keyOf(s)), append(texts, s)
		want := make([]SealingKey, len(ids))
		for i, id := range ids {
			want[i] = SealingKey{ID: id, Primary: i == len(ids)-1, Enabled: true}
		}
		if !slices.Equal(rotated.SealingKeys(), want) || !slices.Equal(loaded.SealingKeys(), want) {
			t.Errorf("the keys are %v, in the file %v, want %v", rotated.SealingKeys(), loaded.SealingKeys(), want)
		}
		for _, s := range texts {
			wantOpens(t, loaded, s, canary)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
		t.Errorf("3 rotations made the keys %v", ids)
	}
}

func TestRotationChangesTheSealingKeysOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	write(t, path, oldKeyring)
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
	s := sealText(t, first, canary)
	second, err := RotateKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(second.encode(), &fields); err != nil {
		t.Fatal(err)
	}
	sealingKey(fields)["status"] = "DISABLED"
	content, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(content))
	third, err := RotateKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []SealingKey{{ID: keyOf(s)}, {ID: primary(t, second), Enabled: true}, {ID: primary(t, third), Primary: true, Enabled: true}}
	if got := third.SealingKeys(); !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
	if _, err := third.Open(s, sealingContext); !errors.Is(err, ErrUnopened) {
		t.Errorf("a disabled key opened: %v", err)
	}
}

// TestConcurrentStartsAndRotationsLoseNoKey lets each start and rotation seal immediately, as a
// server does. The final file must open every ciphertext.
func TestConcurrentStartsAndRotationsLoseNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	write(t, path, oldKeyring)
	const rotations = 12
	texts := make(chan []byte, 2*rotations)
	var processes sync.WaitGroup
	for range rotations {
		for _, load := range []func(string) (*Keyring, error){CompleteKeyring, RotateKeyring} {
			processes.Go(func() {
				k, err := load(path)
				if err != nil {
					t.Error(err)
					return
				}
				s, err := k.Seal([]byte(canary), sealingContext)
				if err != nil {
					t.Error(err)
				}
				texts <- s
			})
		}
	}
	processes.Wait()
	close(texts)
	last, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	for s := range texts {
		wantOpens(t, last, s, canary)
	}
	// A start adds a key only if it comes before every rotation.
	if n := len(last.SealingKeys()); n != rotations && n != rotations+1 {
		t.Errorf("%d keys after %d rotations", n, rotations)
	}
	wantOwnerOnly(t, path)
}

func TestConcurrentStartsMakeOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyring")
	write(t, path, oldKeyring)
	const starts = 24
	texts := make(chan []byte, starts)
	var processes sync.WaitGroup
	for range starts {
		processes.Go(func() {
			k, err := CompleteKeyring(path)
			if err != nil {
				t.Error(err)
				return
			}
			s, err := k.Seal([]byte(canary), sealingContext)
			if err != nil {
				t.Error(err)
			}
			texts <- s
		})
	}
	processes.Wait()
	close(texts)
	last, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(last.SealingKeys()); n != 1 {
		t.Errorf("%d starts made %d keys", starts, n)
	}
	for s := range texts {
		wantOpens(t, last, s, canary)
	}
}

func TestRotationFollowsALinkAndRemovesLeftovers(t *testing.T) {
	targetDir, linkDir := t.TempDir(), t.TempDir()
	path, link := filepath.Join(targetDir, "keys"), filepath.Join(linkDir, "keyring")
	write(t, path, oldKeyring)
	write(t, filepath.Join(targetDir, ".keys.12.tmp"), "half a keyr")
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
	write(t, path, strings.Replace(oldKeyring, "{", `{"sealing_keys":`+string(encodeSealing(handle))+",", 1))
	if k, err := RotateKeyring(path); err != nil || len(k.SealingKeys()) != 1000 {
		t.Fatalf("rotation 1000: %v", err)
	}
	if _, err := RotateKeyring(path); err == nil || !strings.HasSuffix(err.Error(), path+": sealing_keys has 1000 keys already") {
		t.Errorf("rotation 1001: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxPrivate/2 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	k, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	wantOpens(t, k, sealText(t, k, canary), canary)
}
