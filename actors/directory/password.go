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

// Argon2id's cost: the OWASP password storage cheat sheet's second set, whose
// 19 MiB keep a burst of logins within a small machine's memory.
const (
	argonTime    = 2
	argonMemory  = 19 * 1024 // KiB
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// Bounds of hashing, of passwords that are set and of those that are compared: how
// many at once, and how many may wait.
const (
	maxHashing     = 2
	maxHashWaiting = 256
)

// passwords hashes passwords, a bounded number at a time. Those that are set have a gate
// of their own, so that no flood of logins (attempts) keeps the administration out.
type passwords struct {
	set    gate
	memory uint32 // KiB a hash
}

func newPasswords() *passwords {
	return &passwords{set: newGate(maxHashing, maxHashWaiting), memory: argonMemory}
}

// hash is the password's PHC string; actors.ErrBusy when too many wait.
func (p *passwords) hash(ctx context.Context, random io.Reader, pass []byte) (string, error) {
	leave, err := p.set.enter(ctx, "directory.hash")
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

// verify tells whether the password is the one of the PHC string. Without a
// string, or with one that can't be read, it does the same work and says no. The
// caller bounds how many are compared at once.
func (p *passwords) verify(phc string, pass []byte) bool {
	kept, known := parsePHC(phc)
	if !known {
		kept = hashed{memory: p.memory, time: argonTime, threads: argonThreads, salt: make([]byte, argonSalt), key: make([]byte, argonKey)}
	}
	key := argon2.IDKey(pass, kept.salt, kept.time, kept.memory, kept.threads, uint32(len(kept.key)))
	same := subtle.ConstantTimeCompare(key, kept.key) == 1
	return known && same
}

// hashed is what a PHC string says.
type hashed struct {
	memory    uint32 // KiB
	time      uint32
	threads   uint8
	salt, key []byte
}

// parsePHC reads what hash has written.
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
