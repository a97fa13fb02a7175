package secret

import (
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	organization = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	record       = [16]byte{16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}
	noon         = time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)
)

func loadOldKeyring(t *testing.T) *Keyring {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyring")
	writeFile(t, path, oldKeyring)
	k, err := LoadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestDerivedKeysAreStable compares derived keys with keys that another program has computed with the formulas of RFC 5869.
func TestDerivedKeysAreStable(t *testing.T) {
	k := loadOldKeyring(t)
	if got, want := hex.EncodeToString(k.Derive("simulator challenge")), "ce746fea4eaddfdceed52db535cffc4971ff2399383eabbf9632c064247034d5"; got != want {
		t.Errorf("the derived key is %s, want %s", got, want)
	}
	token := k.PageTokens().Issue("action", organization, record, time.UnixMicro(1788430530123456))
	if want := "JT26BXzTjtHFLsIJrB-yGAAGWpFudBbA"; token != want {
		t.Errorf("the token is %s, want %s", token, want)
	}
}

func TestEachLabelAndKeyringDerivesItsOwnKey(t *testing.T) {
	k := createKeyring(t)
	seen := make(map[string]string)
	for name, key := range map[string][]byte{
		"a": k.Derive("a"), "b": k.Derive("b"), "of another keyring": createKeyring(t).Derive("a"),
		"named as the page tokens' is": k.Derive(pageTokenLabel), "page tokens": k.PageTokens().key, "fingerprint": k.fingerprintKey,
	} {
		if other, found := seen[string(key)]; found || len(key) != 32 {
			t.Errorf("%s: %d bytes, as %q has", name, len(key), other)
		}
		seen[string(key)] = name
	}
	defer func() {
		if recover() == nil {
			t.Error("a key was derived without a label")
		}
	}()
	k.Derive("")
}

func TestPageTokenOpensItsPageUntilItExpires(t *testing.T) {
	pageTokens := loadOldKeyring(t).PageTokens()
	token := pageTokens.Issue("action", organization, record, noon)
	for sinceExpiry, want := range map[time.Duration]error{
		-time.Hour: nil, -time.Microsecond: nil, 0: ErrExpired, time.Microsecond: ErrExpired, 1000 * time.Hour: ErrExpired,
	} {
		if err := pageTokens.Check("action", organization, record, token, noon.Add(sinceExpiry)); !errors.Is(err, want) {
			t.Errorf("%v after the end: %v, want %v", sinceExpiry, err, want)
		}
	}
	if reloaded := loadOldKeyring(t).PageTokens(); reloaded.Check("action", organization, record, token, noon.Add(-1)) != nil {
		t.Error("after a restart the token does not hold")
	}
}

func TestPageTokenFitsIntoAURL(t *testing.T) {
	pageTokens := createKeyring(t).PageTokens()
	for _, expires := range []time.Time{{}, noon, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
		token := pageTokens.Issue(strings.Repeat("p", 100), organization, record, expires)
		if len(token) != 32 || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("the token is %q", token)
		}
	}
}

// TestPageTokenOfAnotherPageIsInvalid also checks the tokens after they have expired: for a page for which a token was not
// issued, the error is still ErrInvalid, not ErrExpired.
func TestPageTokenOfAnotherPageIsInvalid(t *testing.T) {
	pageTokens := createKeyring(t).PageTokens()
	token := pageTokens.Issue("action", organization, record, noon)
	otherRecord := record
	otherRecord[15]++
	otherKeyringsToken := createKeyring(t).PageTokens().Issue("action", organization, record, noon)
	lastDigit := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", token[31])
	for name, c := range map[string]struct {
		purpose string
		org, id [16]byte
		token   string
	}{
		"another purpose":      {"receipt", organization, record, token},
		"a shorter purpose":    {"actio", organization, record, token},
		"no purpose":           {"", organization, record, token},
		"another organization": {"action", otherRecord, record, token},
		"another record":       {"action", organization, otherRecord, token},
		"changed places":       {"action", record, organization, token},
		"another keyring's":    {"action", organization, record, otherKeyringsToken},
		"empty":                {"action", organization, record, ""},
		"cut":                  {"action", organization, record, token[:31]},
		"longer":               {"action", organization, record, token + "A"},
		"padded":               {"action", organization, record, token + "=="},
		"broken over lines":    {"action", organization, record, token[:16] + "\r\n" + token[16:]},
		"shorter by a line":    {"action", organization, record, token[:15] + "\n" + token[16:]},
		"of other characters":  {"action", organization, record, token[:31] + "+"},
		"not ASCII":            {"action", organization, record, token[:30] + "é"},
		"a later end":          {"action", organization, record, token[:31] + string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(lastDigit+1)%64])},
	} {
		for _, now := range []time.Time{noon.Add(-time.Hour), noon.Add(time.Hour)} {
			if err := pageTokens.Check(c.purpose, c.org, c.id, c.token, now); err != ErrInvalid {
				t.Errorf("%s, at %v: %v", name, now, err)
			}
		}
	}
}

func TestOtherTextsAreNotPageTokens(t *testing.T) {
	pageTokens := createKeyring(t).PageTokens()
	token := pageTokens.Issue("action", organization, record, noon)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9_-]{32}`), rapid.Custom(func(t *rapid.T) string {
			changed := []byte(token)
			changed[rapid.IntRange(0, 31).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "by")
			return string(changed)
		})).Draw(t, "text")
		if err := pageTokens.Check("action", organization, record, text, noon.Add(-1)); err != ErrInvalid {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
