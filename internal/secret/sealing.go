package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"mizan/internal/assert"
)

// maxSealingKeys is the maximum number of sealing keys in a keyring. The number is enough for one rotation a week for 19 years.
// A keyring file with 1000 sealing keys is smaller than maxPrivateBytes.
const maxSealingKeys = 1000

// Errors of Seal and Open. No error reveals anything about the plaintext.
var (
	ErrNoSealingKey = errors.New("there is no sealing key")
	ErrCannotOpen   = errors.New("the sealed text can't be opened: it is damaged or from another record, or its key is not in the keyring")
)

// SealingKey describes a sealing key. It does not contain the key itself.
type SealingKey struct {
	ID        uint32
	IsPrimary bool // whether Seal uses this key; exactly one key is primary
	IsEnabled bool // whether Open can still use this key
}

// CanSeal tells whether the keyring has a sealing key. Without a sealing key, Seal, Open and the functions that use them
// return ErrNoSealingKey.
func (k *Keyring) CanSeal() bool { return k.sealer != nil }

// SealingKeys describes the sealing keys, the oldest first. If the keyring has no sealing key, the list is empty.
func (k *Keyring) SealingKeys() []SealingKey {
	list := make([]SealingKey, k.sealingKeys.Len())
	for i := range list {
		entry, err := k.sealingKeys.Entry(i)
		assert.NoError(err) // Entry fails only for an index out of range
		list[i] = SealingKey{ID: entry.KeyID(), IsPrimary: entry.IsPrimary(), IsEnabled: entry.KeyStatus() == keyset.Enabled}
	}
	return list
}

// Seal encrypts the plaintext with the primary sealing key. Without the key, nobody can read the ciphertext, or change it
// undetected. The context names the place where the ciphertext is stored (organization and record), and must not be empty. The
// ciphertext does not contain the context, and Open needs the same context, so a ciphertext that was moved to another place
// can't be opened. Seal keeps no reference to the plaintext. The caller must wipe the plaintext.
func (k *Keyring) Seal(plaintext, context []byte) ([]byte, error) {
	assert.That(len(context) > 0, "a text is sealed without a context")
	if k.sealer == nil {
		return nil, ErrNoSealingKey
	}
	sealed, err := k.sealer.Encrypt(plaintext, context)
	if err != nil {
		return nil, errors.New("the text can't be sealed")
	}
	return sealed, nil
}

// Open decrypts what Seal has encrypted with the same context, even if the sealing key was replaced in the meantime. The error
// is ErrCannotOpen or ErrNoSealingKey. The caller must wipe the plaintext.
func (k *Keyring) Open(sealed, context []byte) ([]byte, error) {
	if k.sealer == nil {
		return nil, ErrNoSealingKey
	}
	plaintext, err := k.sealer.Decrypt(sealed, context)
	if err != nil {
		return nil, ErrCannotOpen
	}
	return plaintext, nil
}

// parseSealingKeys parses the sealing keys. It does not return errors of the library tink, because they may quote the keys.
func (k *Keyring) parseSealingKeys(keys []byte) (err error) {
	if k.sealingKeys, err = insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(keys))); err == nil {
		k.sealer, err = aead.New(k.sealingKeys)
	}
	if err != nil {
		return fmt.Errorf("%s is not a set of AEAD keys with an enabled primary one", fieldSealingKeys)
	}
	return nil
}

// withNewSealingKey returns a copy of the keyring with an additional sealing key, which becomes the primary key. The algorithm
// is XChaCha20-Poly1305, whose random nonces are so long that they do not repeat. AES-GCM has shorter nonces, so a key would
// have to be replaced before it has sealed 2^32 texts. But nothing forces an operator to replace a key.
func (k *Keyring) withNewSealingKey() (*Keyring, error) {
	if k.sealingKeys.Len() >= maxSealingKeys {
		return nil, fmt.Errorf("%s has %d keys already", fieldSealingKeys, k.sealingKeys.Len())
	}
	keys := keyset.NewManager()
	if k.sealingKeys != nil {
		keys = keyset.NewManagerFromHandle(k.sealingKeys)
	}
	id, err := keys.Add(aead.XChaCha20Poly1305KeyTemplate())
	assert.NoError(err)
	assert.NoError(keys.SetPrimary(id))
	handle, err := keys.Handle()
	assert.NoError(err)
	fields := maps.Clone(k.fields)
	fields[fieldSealingKeys] = encodeSealingKeys(handle)
	return fromFields(fields)
}

// encodeSealingKeys returns the sealing keys in the JSON format of the library tink. Like the other keys in the file, the
// sealing keys are not encrypted.
func encodeSealingKeys(keys *keyset.Handle) json.RawMessage {
	var out bytes.Buffer
	assert.NoError(insecurecleartextkeyset.Write(keys, keyset.NewJSONWriter(&out)))
	return out.Bytes()
}
