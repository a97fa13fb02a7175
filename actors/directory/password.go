package directory

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Cost of Argon2id: the second parameter set of the OWASP password storage cheat sheet, whose 19
// MiB per hash let a burst of logins fit into a small machine's memory.
const (
	argonTime    = 2
	argonMemory  = 19 * 1024 // KiB
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// Bounds of hashing: how many hashes run at once and how many may wait. They apply to setting
// passwords and, separately, to logins (hashingPlaces).
const (
	maxHashing     = 2
	maxHashWaiting = 256
)

// passwordHasher hashes passwords, a bounded number at a time. A request that sets a password waits at
// settingGate and a login waits elsewhere (hashingPlaces), so a flood of logins does not keep
// administrators from setting passwords.
type passwordHasher struct {
	settingGate gate
	memory      uint32 // KiB per hash
}

func newPasswordHasher() *passwordHasher {
	return &passwordHasher{settingGate: newGate(maxHashing, maxHashWaiting), memory: argonMemory}
}

// hash returns the password's PHC string, a text with the algorithm, its parameters, the salt and the hash;
// actors.ErrBusy if too many callers wait.
func (p *passwordHasher) hash(ctx context.Context, random io.Reader, pass []byte) (string, error) {
	leave, err := p.settingGate.enter(ctx, "directory.hash")
	if err != nil {
		return "", err
	}
	defer leave()
	var salt [argonSalt]byte
	if _, err := io.ReadFull(random, salt[:]); err != nil {
		return "", err
	}
	key := argon2.IDKey(pass, salt[:], argonTime, p.memory, argonThreads, argonKey)
	encoding := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, argonTime, argonThreads,
		encoding.EncodeToString(salt[:]), encoding.EncodeToString(key)), nil
}

// verify tells whether the PHC string was made from the password. If there is no string, or it cannot
// be parsed, verify does the same work and returns false. The caller bounds how many calls run at once.
func (p *passwordHasher) verify(phc string, pass []byte) bool {
	parsed, known := parsePHC(phc)
	if !known {
		parsed = passwordHash{memory: p.memory, time: argonTime, threads: argonThreads, salt: make([]byte, argonSalt), key: make([]byte, argonKey)}
	}
	key := argon2.IDKey(pass, parsed.salt, parsed.time, parsed.memory, parsed.threads, uint32(len(parsed.key)))
	keyMatches := subtle.ConstantTimeCompare(key, parsed.key) == 1
	return known && keyMatches
}

// passwordHash is a parsed PHC string.
type passwordHash struct {
	memory    uint32 // KiB
	time      uint32
	threads   uint8
	salt, key []byte
}

// parsePHC parses what hash has written.
func parsePHC(phc string) (h passwordHash, ok bool) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, false
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil || n != 3 {
		return h, false
	}
	encoding := base64.RawStdEncoding
	salt, saltErr := encoding.DecodeString(parts[4])
	key, keyErr := encoding.DecodeString(parts[5])
	h.salt, h.key = salt, key
	return h, saltErr == nil && keyErr == nil && len(salt) > 0 && len(key) == argonKey && h.time > 0 && h.threads > 0
}
