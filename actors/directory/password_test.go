package directory

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"mizan/actors"
	"mizan/ledger"
)

// matches tells whether the PHC string was made from the password. It implements the string's specification
// independently.
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
	hasher := newPasswordHasher()
	firstHash, secondHash := must(hasher.hash(t.Context(), rand.Reader, []byte("pass"))), must(hasher.hash(t.Context(), rand.Reader, []byte("pass")))
	if !strings.HasPrefix(firstHash, "$argon2id$v=19$m=19456,t=2,p=1$") || firstHash == secondHash {
		t.Errorf("%s and %s", firstHash, secondHash)
	}
	if !matches(t, firstHash, "pass") || matches(t, firstHash, "Pass") {
		t.Error("the hash isn't the password's")
	}
}

func TestPasswordHashingIsBounded(t *testing.T) {
	hasher := newPasswordHasher()
	setPassword := func(ctx context.Context) error {
		_, err := hasher.hash(ctx, rand.Reader, []byte("pass"))
		return err
	}
	for range maxHashing {
		hasher.settingGate.inside <- struct{}{} // all places are taken
		hasher.settingGate.insideOrWaiting <- struct{}{}
	}
	wantCode(t, "no answer in time", setPassword(canceledContext(t)), ledger.Unavailable, "")
	if len(hasher.settingGate.insideOrWaiting) != maxHashing {
		t.Error("a caller that gave up still waits")
	}
	for range maxHashWaiting {
		hasher.settingGate.insideOrWaiting <- struct{}{}
	}
	if err := setPassword(t.Context()); !errors.Is(err, actors.ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	for range maxHashing {
		<-hasher.settingGate.inside
	}
	for range maxHashing + maxHashWaiting {
		<-hasher.settingGate.insideOrWaiting
	}
	if err := setPassword(t.Context()); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

func TestPasswordIsVerified(t *testing.T) {
	hasher := newPasswordHasher()
	hasher.memory = 8
	storedHash := must(hasher.hash(t.Context(), rand.Reader, []byte("pass")))
	hasher.memory = 16 // the memory that the PHC string names applies, not the memory of new hashes
	for what, c := range map[string]struct {
		phc, pass string
		want      bool
	}{
		"the right password":         {storedHash, "pass", true},
		"another password":           {storedHash, "Pass", false},
		"an empty password":          {storedHash, "", false},
		"no hash":                    {"", "pass", false},
		"no hash, an empty password": {"", "", false},
		"another algorithm":          {strings.Replace(storedHash, "argon2id", "argon2i", 1), "pass", false},
		"another version":            {strings.Replace(storedHash, "v=19", "v=16", 1), "pass", false},
		"zero iterations":            {strings.Replace(storedHash, "t=2", "t=0", 1), "pass", false},
		"a key cut short":            {storedHash[:len(storedHash)-4], "pass", false},
		"no key":                     {storedHash[:strings.LastIndex(storedHash, "$")+1], "pass", false},
		"not base64":                 {storedHash[:len(storedHash)-1] + "!", "pass", false},
	} {
		if got := hasher.verify(c.phc, []byte(c.pass)); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}
