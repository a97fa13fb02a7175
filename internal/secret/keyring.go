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

	// signerName is the server's name in every signed head (a signed hash of the ledger). Verifiers find
	// the key by this name, so it never changes.
	signerName = "mizan"

	fingerprintKeyBytes = 32
	fingerprintBytes    = 16 // the first bytes of the HMAC, which give 32 hex digits
)

// The fields of version 1. A new field does not raise the version, unless old data can't be read without
// it. A new meaning of a field does.
const (
	fieldVersion        = "version"
	fieldSigningKey     = "head_skey"
	fieldVerifierKey    = "head_vkey"
	fieldFingerprintKey = "fingerprint_key"
	fieldSealingKeys    = "sealing_keys" // optional
)

// Keyring holds the platform's own keys. It never changes, so it is safe for concurrent use; a
// rotation makes a new Keyring.
type Keyring struct {
	signer         note.Signer
	verifier       note.Verifier
	verifierKey    string // the text from which verifier was made
	fingerprintKey []byte
	fingerprints   *macs          // with fingerprintKey
	sealingKeys    *keyset.Handle // nil: the file has no sealing key
	sealer         tink.AEAD      // seals and opens with sealingKeys; nil without a sealing key

	// fields is the file as it was read, so that a rewrite keeps the fields of later versions.
	fields map[string]json.RawMessage
}

// LoadKeyring reads the keyring file, with or without a sealing key. The error is
// fs.ErrNotExist if the file does not exist; it names the file and never quotes its content. A
// file that anyone but its owner may read or write is refused.
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

// LoadSealingKeyring is LoadKeyring for a caller that must seal and may not write the file. If the
// file has no sealing key, the error is ErrNoSealingKey, whose text says what to do.
func LoadSealingKeyring(path string) (*Keyring, error) {
	k, err := LoadKeyring(path)
	if err == nil && !k.CanSeal() {
		return nil, fmt.Errorf("keyring %s: %w; `mizan keys rotate --keyring %s` adds one", path, ErrNoSealingKey, path)
	}
	return k, err
}

// CompleteKeyring is LoadKeyring for a caller that must seal and owns the file: a missing
// sealing key is created, and is durable before it is used. A complete file is only read.
// Errors are those of LoadKeyring and of the file system.
func CompleteKeyring(path string) (*Keyring, error) {
	k, err := LoadKeyring(path)
	if err != nil || k.CanSeal() {
		return k, err
	}
	return rewriteKeyring(path, func(k *Keyring) (*Keyring, error) {
		if k.CanSeal() { // another process has added one
			return k, nil
		}
		return k.withNewSealingKey()
	})
}

// RotateKeyring adds a sealing key to the file. The new key seals everything from then on; the
// earlier sealing keys still open what they have sealed. The keys for other purposes stay as they are. A
// process that has already loaded the keyring continues with the old sealing key. Errors are those of LoadKeyring
// and of the file system. At 1000 sealing keys RotateKeyring fails and leaves the file as it is.
func RotateKeyring(path string) (*Keyring, error) {
	return rewriteKeyring(path, (*Keyring).withNewSealingKey)
}

// rewriteKeyring changes the keyring's current content on disk, and not a copy that was loaded
// before. Writing back an old copy could undo a rotation, and what was sealed in between would
// be lost.
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

// CreateKeyring creates new keys and writes them to a new file of mode 0600. The error is
// fs.ErrExist if the file exists, even if it is empty. The sealing key comes from crypto/rand,
// which can't fail, the others from random.
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

// Signer returns the signer of the ledger's heads (hashes of the whole ledger).
func (k *Keyring) Signer() note.Signer { return k.signer }

// Verifier returns the verifier of Signer's signatures.
func (k *Keyring) Verifier() note.Verifier { return k.verifier }

// VerifierKey returns Verifier's key as note.NewVerifier takes it. It is public, and auditors
// keep it.
func (k *Keyring) VerifierKey() string { return k.verifierKey }

// Identity returns a value that identifies this keyring. Rotations do not change it, and it
// reveals nothing about the keys.
func (k *Keyring) Identity() [32]byte { return [32]byte(k.Derive("identity " + k.verifierKey)) }

// Fingerprint returns a value by which equal card numbers can be recognized without being
// stored: the first half of their HMAC-SHA-256, 32 hex digits. The number is padded to whole
// blocks first (blockWriter explains why). The key never rotates, because limits and block lists
// would no longer recognize the cards they have stored.
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

// MarshalText keeps the keys out of every text and JSON encoder.
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
	// The decoder's own error may quote a character of the file.
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

// checkPair checks that the two halves of the signing key belong together. If they did not, nobody
// could verify the signed heads with the published key.
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
