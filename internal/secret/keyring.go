package secret

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
	"golang.org/x/mod/sumdb/note"

	"mizan/internal/assert"
	"mizan/internal/durable"
)

const (
	keyringVersion = 1

	// signerName is the server's name in every signed head (a signed hash of the ledger). Verifiers look for a signature with
	// this name, so the name must never change.
	signerName = "mizan"

	fingerprintKeyBytes = 32
	fingerprintBytes    = 16 // a fingerprint is the beginning of an HMAC; 16 bytes are 32 hex digits
)

// Names of the fields in a keyring file of version 1. When you add a field, raise the version only if old data can't be read
// without the field. When you change the meaning of a field, always raise the version.
const (
	fieldVersion        = "version"
	fieldSigningKey     = "head_skey"
	fieldVerifierKey    = "head_vkey"
	fieldFingerprintKey = "fingerprint_key"
	fieldSealingKeys    = "sealing_keys" // may be missing
)

// Keyring holds the service's own keys. A Keyring is immutable, so it is safe for concurrent use. A rotation makes a new
// Keyring.
type Keyring struct {
	signer         note.Signer
	verifier       note.Verifier
	verifierKey    string // verifier as text, as note.NewVerifier reads it
	fingerprintKey []byte
	fingerprints   *macs          // computes HMACs with fingerprintKey
	sealingKeys    *keyset.Handle // nil if the keyring has no sealing key
	sealer         tink.AEAD      // seals and opens with sealingKeys; nil if there is no sealing key

	// fields are all fields of the file. A rewrite keeps the fields that this version of the program does not know.
	fields map[string]json.RawMessage
}

// LoadKeyring reads the keyring file at the path. The file need not have a sealing key. If anyone but the file's owner may read
// or write the file, LoadKeyring returns an error. If the file does not exist, the error is fs.ErrNotExist. Errors name the
// file and never quote its content.
func LoadKeyring(path string) (*Keyring, error) {
	content, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	k, err := parseKeyring(content)
	if err != nil {
		return nil, fmt.Errorf("keyring %s: %w", path, err)
	}
	return k, nil
}

// LoadSealingKeyring is like LoadKeyring, but for callers that need a sealing key and may not write the file. If the file has
// no sealing key, the error is ErrNoSealingKey, and its text says how to add a key.
func LoadSealingKeyring(path string) (*Keyring, error) {
	k, err := LoadKeyring(path)
	if err == nil && !k.CanSeal() {
		return nil, fmt.Errorf("keyring %s: %w; `mizan keys rotate --keyring %s` adds one", path, ErrNoSealingKey, path)
	}
	return k, err
}

// CompleteKeyring is like LoadKeyring, but for callers that need a sealing key and may write the file. If the file has no
// sealing key, CompleteKeyring adds a key to the file, which is durable when CompleteKeyring returns. Otherwise CompleteKeyring
// only reads the file. It returns an error of LoadKeyring or of the file system.
func CompleteKeyring(path string) (*Keyring, error) {
	k, err := LoadKeyring(path)
	if err != nil || k.CanSeal() {
		return k, err
	}
	return rewriteKeyring(path, func(k *Keyring) (*Keyring, error) {
		if k.CanSeal() { // another process has added a sealing key
			return k, nil
		}
		return k.withNewSealingKey()
	})
}

// RotateKeyring adds a sealing key to the file. A process that loads the keyring afterwards seals with the new key, and can
// still open what was sealed with earlier keys. A process that has already loaded the keyring continues to seal with the old
// key. The other keys in the file do not change. If the file already has 1000 sealing keys, RotateKeyring returns an error and
// does not change the file. RotateKeyring may also return an error of LoadKeyring or of the file system.
func RotateKeyring(path string) (*Keyring, error) {
	return rewriteKeyring(path, (*Keyring).withNewSealingKey)
}

// rewriteKeyring reads the file, applies change and writes the result to the file. It does not write a Keyring that was loaded
// earlier, because this could undo a rotation. Then a key would be lost, and data that was sealed with this key could no longer
// be opened.
func rewriteKeyring(path string, change func(*Keyring) (*Keyring, error)) (changed *Keyring, err error) {
	err = rewritePrivate(path, func(content []byte) ([]byte, error) {
		k, err := parseKeyring(content)
		if err == nil {
			changed, err = change(k)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return changed.encode(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return changed, nil
}

// CreateKeyring creates new keys and writes them to a new file of mode 0600. If the file exists, even if it is empty, the error
// is fs.ErrExist. The sealing key is generated with crypto/rand, which can't fail, and the other keys with the reader random.
func CreateKeyring(path string, random io.Reader) (*Keyring, error) {
	k, err := newKeyring(random)
	if err != nil {
		return nil, fmt.Errorf("keyring %s: %w", path, err)
	}
	if err := durable.Create(path, privateMode, k.encode()); err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return k, nil
}

// Signer returns the signer of the ledger's signed heads. A head is a hash of the whole ledger.
func (k *Keyring) Signer() note.Signer { return k.signer }

// Verifier returns the verifier of the signatures that Signer makes.
func (k *Keyring) Verifier() note.Verifier { return k.verifier }

// VerifierKey returns the public key of Verifier as text, which note.NewVerifier can read. Auditors keep this key.
func (k *Keyring) VerifierKey() string { return k.verifierKey }

// Identity returns a value that identifies this keyring. A rotation does not change the identity. The identity reveals nothing
// about the keys.
func (k *Keyring) Identity() [32]byte { return [32]byte(k.Derive("identity " + k.verifierKey)) }

// Fingerprint returns the fingerprint of a card number, which is stored instead of the number to recognize the card later. It
// is the first half of an HMAC-SHA-256, as 32 hex digits. The number is padded to whole blocks first (blockWriter explains
// why). The key of the HMAC is never rotated, because limits and block lists recognize cards by their stored fingerprints.
func (k *Keyring) Fingerprint(number []byte) string {
	sum := k.fingerprints.sum(number)
	var digits [2 * fingerprintBytes]byte
	hex.Encode(digits[:], sum[:fingerprintBytes])
	return string(digits[:])
}

// Format implements fmt.Formatter, so that no verb shows the keys.
func (k Keyring) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// LogValue implements slog.LogValuer.
func (k Keyring) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText makes encoders of text and JSON write Redacted instead of the keys.
func (k Keyring) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

func newKeyring(random io.Reader) (*Keyring, error) {
	signingKey, verifierKey, err := note.GenerateKey(random, signerName)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	fingerprint := make([]byte, fingerprintKeyBytes)
	if _, err := io.ReadFull(random, fingerprint); err != nil {
		return nil, fmt.Errorf("fingerprint key: %w", err)
	}
	fields := make(map[string]json.RawMessage)
	for name, value := range map[string]any{
		fieldVersion:        keyringVersion,
		fieldSigningKey:     signingKey,
		fieldVerifierKey:    verifierKey,
		fieldFingerprintKey: fingerprint,
	} {
		if fields[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	k, err := fromFields(fields)
	if err != nil {
		return nil, err
	}
	return k.withNewSealingKey()
}

func parseKeyring(content []byte) (*Keyring, error) {
	var fields map[string]json.RawMessage
	// The error of the JSON decoder is not returned, because it may quote a character of the file.
	if json.Unmarshal(content, &fields) != nil {
		return nil, errors.New("not a JSON object")
	}
	return fromFields(fields)
}

func fromFields(fields map[string]json.RawMessage) (*Keyring, error) {
	var (
		version                 int
		signingKey, verifierKey string
		k                       = &Keyring{fields: fields}
	)
	for _, f := range []struct {
		name   string
		target any
	}{
		{fieldVersion, &version},
		{fieldSigningKey, &signingKey},
		{fieldVerifierKey, &verifierKey},
		{fieldFingerprintKey, &k.fingerprintKey},
	} {
		if json.Unmarshal(fields[f.name], f.target) != nil {
			return nil, fmt.Errorf("%s is missing or has the wrong type", f.name)
		}
		if f.target == &version && version != keyringVersion {
			return nil, fmt.Errorf("version %d, this program reads version %d", version, keyringVersion)
		}
	}
	if len(k.fingerprintKey) != fingerprintKeyBytes {
		return nil, fmt.Errorf("%s has %d bytes, not %d", fieldFingerprintKey, len(k.fingerprintKey), fingerprintKeyBytes)
	}
	k.fingerprints = newMACs(k.fingerprintKey)
	var err error
	if k.signer, err = note.NewSigner(signingKey); err != nil {
		return nil, fmt.Errorf("%s: %w", fieldSigningKey, err)
	}
	if k.verifier, err = note.NewVerifier(verifierKey); err != nil {
		return nil, fmt.Errorf("%s: %w", fieldVerifierKey, err)
	}
	k.verifierKey = verifierKey
	if keys, found := fields[fieldSealingKeys]; found {
		if err := k.parseSealingKeys(keys); err != nil {
			return nil, err
		}
	}
	return k, k.checkPair()
}

// checkPair checks that the private and the public signing key belong together. If they did not, nobody could verify the signed
// heads with the public key.
func (k *Keyring) checkPair() error {
	probe := []byte("mizan keyring probe\n")
	signature, err := k.signer.Sign(probe)
	if err != nil || k.signer.Name() != signerName || k.verifier.Name() != signerName || !k.verifier.Verify(probe, signature) {
		return fmt.Errorf("%s and %s are not one key pair of %q", fieldSigningKey, fieldVerifierKey, signerName)
	}
	return nil
}

// encode returns the content of the keyring file. Encoding can't fail, because the fields are JSON already.
func (k *Keyring) encode() []byte {
	content, err := json.MarshalIndent(k.fields, "", "  ")
	assert.NoError(err)
	return append(content, '\n')
}
