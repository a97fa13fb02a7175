package payerpage

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
)

func newPages(t testing.TB) Pages {
	t.Helper()
	keyring, err := secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Pages{Base: "https://pay.example", Tokens: keyring.PageTokens()}
}

func TestTokenOpensItsOwnPageUntilItExpires(t *testing.T) {
	p := newPages(t)
	org, id, expires := uuid.New(), uuid.New(), time.Date(2026, 9, 3, 10, 30, 0, 0, time.UTC)
	for _, address := range []string{p.Address(org, id, expires), p.Return(org, id, expires)} {
		path, token, _ := strings.Cut(address, "?token=")
		if want := "https://pay.example/pay/" + id.String(); path != want && path != want+"/return" {
			t.Errorf("the address is %s", address)
		}
		if got, err := p.Open(id, token, expires.Add(-time.Microsecond)); got != org || err != nil {
			t.Errorf("opens %v %v", got, err)
		}
		if got, err := p.Open(id, token, expires); got != org || err != ErrExpired {
			t.Errorf("at its end it opens %v %v", got, err)
		}
		if _, err := p.Open(uuid.New(), token, expires.Add(-time.Hour)); err != ErrToken {
			t.Errorf("another page: %v", err)
		}
		if _, err := newPages(t).Open(id, token, expires.Add(-time.Hour)); err != ErrToken {
			t.Errorf("with another key: %v", err)
		}
	}
}

// Links on the pages have a lasting token, which proves that its holder was on a page. A token in a response of the API does not
// prove that. So a token of one kind is not accepted in place of the other kind.
func TestTokenOfALastingAddressIsItsOwn(t *testing.T) {
	p := newPages(t)
	org, id, expires := uuid.New(), uuid.New(), time.Date(2026, 9, 3, 10, 30, 0, 0, time.UTC)
	_, lasting, _ := strings.Cut(p.LastingPath(org, id, expires), "?token=")
	_, shown, _ := strings.Cut(p.Path(org, id, "", expires), "?token=")
	for now, want := range map[time.Time]error{expires.Add(-time.Microsecond): nil, expires: ErrExpired} {
		if got, err := p.OpenLasting(id, lasting, now); got != org || err != want {
			t.Errorf("opens %v %v", got, err)
		}
		if _, err := p.OpenLasting(id, shown, now); err != ErrToken {
			t.Errorf("an address that the API shows: %v", err)
		}
		if _, err := p.Open(id, lasting, now); err != ErrToken {
			t.Errorf("as an address that the API shows: %v", err)
		}
	}
}

// Only an issued token opens a page, however it is encoded.
func FuzzOnlyIssuedTokensOpen(f *testing.F) {
	p := newPages(f)
	org, id, expires := uuid.New(), uuid.New(), time.Date(2026, 9, 3, 10, 30, 0, 0, time.UTC)
	_, issued, _ := strings.Cut(p.Address(org, id, expires), "?token=")
	for _, seed := range []string{issued, issued + "=", issued[:len(issued)-1], " " + issued, "", ".", strings.ToUpper(issued), issued + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		got, err := p.Open(id, token, expires.Add(-time.Hour))
		if opened := err == nil && got == org; opened != (token == issued) || err != nil && got != (ledger.ID{}) {
			t.Errorf("%q opens %v %v", token, got, err)
		}
	})
}
