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

	// signerName is the server's name in every signed head (a signed hash of the ledger). Verifiers look for the signature
	// under this name, so the name never changes.
	signerName = "mizan"

	fingerprintKeyBytes = 32
	fingerprintBytes    = 16 // length of a fingerprint: the first bytes of an HMAC, which are shown as 32 hex digits
)

// Names of the fields in a keyring file of version 1. Adding a field raises the version only if old data can't be read
// without it. Changing the meaning of a field always raises the version.
const (
	fieldVersion        = "version"
	fieldSigningKey     = "head_skey"
	fieldVerifierKey    = "head_vkey"
	fieldFingerprintKey = "fingerprint_key"
	fieldSealingKeys    = "sealing_keys" // may be missing
)

// Keyring holds the service's own keys. A Keyring never changes, so it is safe for concurrent use. A rotation makes a new
// Keyring.
type Keyring struct {
	signer         note.Signer
	verifier       note.Verifier
	verifierKey    string // the text from which verifier was made
	fingerprintKey []byte
	fingerprints   *macs          // computes HMACs with fingerprintKey
	sealingKeys    *keyset.Handle // nil if the keyring has no sealing key
	sealer         tink.AEAD      // seals and opens with sealingKeys; nil if there is no sealing key

	// fields has the whole file as it was read, so that a rewrite keeps fields that only later versions know.
	fields map[string]json.RawMessage
}

// LoadKeyring reads the keyring file at the path. The file may lack a sealing key. If anyone but the file's owner may read or
// write it, LoadKeyring returns an error. The error is fs.ErrNotExist if the file does not exist. Errors name the file and
// never quote its content.
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

// LoadSealingKeyring does the work of LoadKeyring for a caller that needs a sealing key and may not write the file. If the
// file has no sealing key, the error is ErrNoSealingKey, and its text says how to add one.
func LoadSealingKeyring(path string) (*Keyring, error) {
	k, err := LoadKeyring(path)
	if err == nil && !k.CanSeal() {
		return nil, fmt.Errorf("keyring %s: %w; `mizan keys rotate --keyring %s` adds one", path, ErrNoSealingKey, path)
	}
	return k, err
}

// CompleteKeyring does the work of LoadKeyring for a caller that needs a sealing key and may write the file. If the file has
// no sealing key, CompleteKeyring adds one and makes it durable before it returns. Otherwise it only reads the file. Errors
// are those of LoadKeyring and of the file system.
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

// RotateKeyring adds a sealing key to the file. From then on the new key seals everything, and the earlier sealing keys still
// open what they have sealed. The other keys in the file do not change. A process that has already loaded the keyring
// continues with the old sealing key. Errors are those of LoadKeyring and of the file system. If the file already has 1000
// sealing keys, RotateKeyring returns an error and does not change the file.
func RotateKeyring(path string) (*Keyring, error) {
	return rewriteKeyring(path, (*Keyring).withNewSealingKey)
}

// rewriteKeyring applies change to the content that the file has now, not to a Keyring that was loaded earlier. Writing back
// an earlier content could undo a rotation, and then data that was sealed with the lost key could not be opened any more.
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

// CreateKeyring creates new keys and writes them to a new file of mode 0600. The error is fs.ErrExist if the file exists,
// even if it is empty. The sealing key is made with crypto/rand, which can't fail. The other keys are made with random.
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

// VerifierKey returns the public key of Verifier, in the text form that note.NewVerifier takes. Auditors keep this key.
func (k *Keyring) VerifierKey() string { return k.verifierKey }

// Identity returns a value that identifies this keyring. It stays the same after rotations, and reveals nothing about the
// keys.
func (k *Keyring) Identity() [32]byte { return [32]byte(k.Derive("identity " + k.verifierKey)) }

// Fingerprint returns a value by which a card number can be recognized again without being stored: the first half of its
// HMAC-SHA-256, as 32 hex digits. The number is padded to whole blocks first (blockWriter explains why). The key of the HMAC
// is never rotated, because limits and block lists recognize cards by their stored fingerprints.
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
	// The JSON decoder's own error may quote a character of the file, so it is not returned.
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

// checkPair checks that the two halves of the signing key belong together. Otherwise nobody could verify the signed heads
// with the published key.
func (k *Keyring) checkPair() error {
	probe := []byte("mizan keyring probe\n")
	signature, err := k.signer.Sign(probe)
	if err != nil || k.signer.Name() != signerName || k.verifier.Name() != signerName || !k.verifier.Verify(probe, signature) {
		return fmt.Errorf("%s and %s are not one key pair of %q", fieldSigningKey, fieldVerifierKey, signerName)
	}
	return nil
}

// encode returns the file's content. It can't fail, because the fields are JSON already.
func (k *Keyring) encode() []byte {
	content, err := json.MarshalIndent(k.fields, "", "  ")
	assert.NoError(err)
	return append(content, '\n')
}
