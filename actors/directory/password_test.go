package directory

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"mizan/ledger"
)

// matches is a second reading of a PHC string, after its specification.
func matches(t *testing.T, hash, pass string) bool {
	t.Helper()
	parts := strings.Split(hash, "$")
	var version int
	var memory, passes uint32
	var threads uint8
	if len(parts) != 6 || parts[1] != "argon2id" {
		t.Fatalf("not a PHC string: %d parts", len(parts))
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads); err != nil || version != argon2.Version {
		t.Fatal(err, version)
	}
	salt := must(base64.RawStdEncoding.DecodeString(parts[4]))
	want := must(base64.RawStdEncoding.DecodeString(parts[5]))
	return subtle.ConstantTimeCompare(want, argon2.IDKey([]byte(pass), salt, passes, memory, threads, uint32(len(want)))) == 1
}

func TestPasswordHash(t *testing.T) {
	p := newPasswords()
	one, two := must(p.hash(t.Context(), rand.Reader, []byte("pass"))), must(p.hash(t.Context(), rand.Reader, []byte("pass")))
	if !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") || one == two {
		t.Errorf("%s and %s", one, two)
	}
	if !matches(t, one, "pass") || matches(t, one, "Pass") {
		t.Error("the hash isn't the password's")
	}
}

func TestPasswordHashingIsBounded(t *testing.T) {
	p := newPasswords()
	for range maxHashing {
		p.inside <- struct{}{} // all at work
	}
	_, err := p.hash(canceled(t), rand.Reader, []byte("pass"))
	wantCode(t, "no answer in time", err, ledger.Unavailable, "")
	if len(p.admitted) != 0 {
		t.Error("who gave up still waits")
	}
	for range maxHashing + maxHashWaiting {
		p.admitted <- struct{}{}
	}
	_, err = p.hash(t.Context(), rand.Reader, []byte("pass"))
	wantCode(t, "one too many", err, ledger.Unavailable, "")
}
