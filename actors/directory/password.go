package directory

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"

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

// Bounds of hashing: how many at once, and how many may wait.
const (
	maxHashing     = 2
	maxHashWaiting = 256
)

// passwords hashes a bounded number of passwords at a time.
type passwords struct {
	gate
	memory uint32 // KiB a hash
}

func newPasswords() *passwords {
	return &passwords{gate: newGate(maxHashing, maxHashWaiting), memory: argonMemory}
}

// hash is the password's PHC string; actors.ErrBusy when too many wait.
func (p *passwords) hash(ctx context.Context, random io.Reader, pass []byte) (string, error) {
	leave, err := p.enter(ctx, "directory.hash")
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
