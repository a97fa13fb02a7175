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
// MiB per hash keep a burst of logins within a small machine's memory.
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

// passwords hashes passwords, a bounded number at a time. Setting a password waits at its own gate and
// logins wait elsewhere (hashingPlaces), so a flood of logins does not keep administrators from setting
// passwords.
type passwords struct {
	settingGate gate
	memory      uint32 // KiB per hash
}

func newPasswords() *passwords {
	return &passwords{settingGate: newGate(maxHashing, maxHashWaiting), memory: argonMemory}
}

// hash returns the password's PHC string; actors.ErrBusy if too many callers wait.
func (p *passwords) hash(ctx context.Context, random io.Reader, pass []byte) (string, error) {
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
	text := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, argonTime, argonThreads,
		text.EncodeToString(salt[:]), text.EncodeToString(key)), nil
}

// verify tells whether the PHC string was made from the password. If there is no string, or it cannot
// be parsed, verify does the same work and returns false. The caller bounds how many calls run at once.
func (p *passwords) verify(phc string, pass []byte) bool {
	parsed, known := parsePHC(phc)
	if !known {
		parsed = hashed{memory: p.memory, time: argonTime, threads: argonThreads, salt: make([]byte, argonSalt), key: make([]byte, argonKey)}
	}
	key := argon2.IDKey(pass, parsed.salt, parsed.time, parsed.memory, parsed.threads, uint32(len(parsed.key)))
	same := subtle.ConstantTimeCompare(key, parsed.key) == 1
	return known && same
}

// hashed is a parsed PHC string.
type hashed struct {
	memory    uint32 // KiB
	time      uint32
	threads   uint8
	salt, key []byte
}

// parsePHC parses what hash has written.
func parsePHC(phc string) (h hashed, ok bool) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, false
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil || n != 3 {
		return h, false
	}
	text := base64.RawStdEncoding
	salt, saltErr := text.DecodeString(parts[4])
	key, keyErr := text.DecodeString(parts[5])
	h.salt, h.key = salt, key
	return h, saltErr == nil && keyErr == nil && len(salt) > 0 && len(key) == argonKey && h.time > 0 && h.threads > 0
}
