package clicks

import (
	"context"
	"slices"
	"strings"
	"testing"

	"mizan/bench/server"
	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestKindReplacesIDs(t *testing.T) {
	for address, want := range map[string]string{
		"/console/": "/console/",
		"/console/payments/8745f78d-4c6b-4ed3-b2a4-f910ce3f3cb5?env=test": "/console/payments/:",
		"/console/admin/partners/17/edit":                                 "/console/admin/partners/:/edit",
		"/console/ledger/accounts/L:partner:1:available?currency=USD":     "/console/ledger/accounts/:",
		"/console/ledger/accounts/L%3Apartner":                            "/console/ledger/accounts/:",
		"/console/ledger/periods/2026-08":                                 "/console/ledger/periods/:",
	} {
		if got := Kind(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestFilesAreNoPages(t *testing.T) {
	const content = `<a href="/console/payments?a=1&amp;b=2">x</a> <a class="c" href="/console/ledger/export?format=csv">y</a>` +
		`<a href="/console/x.csv">z</a> <a href="https://elsewhere.example/">e</a> <a href="/docs">d</a>`
	if got, want := pagesIn(content), []string{"/console/payments?a=1&b=2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The test opens the first page of each role and all pages that the first page links to. So it finds menu entries whose page
// fails.
func TestPeopleOpenTheirPages(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	sandbox, err := server.ReadSandbox(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	client, err := sandbox.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	c := &Users{client: client, base: s.BaseURL, kinds: make(map[string]*kind), all: newHistogram(), errors: make(map[string]int)}
	for _, role := range []string{"partner", "admin", "auditor", "client"} {
		name, pass := s.Sandbox.ConsoleLogin(role)
		if _, err := logIn(t.Context(), c, Login{s.Sandbox.OrganizationID, name, pass + "x"}, 1); err == nil {
			t.Errorf("%s: logged in with a wrong password", role)
		}
		p, err := logIn(t.Context(), c, Login{s.Sandbox.OrganizationID, name, pass}, 1)
		if err != nil {
			t.Fatal(role, err)
		}
		links, err := p.open(t.Context(), firstPage)
		if err != nil || len(links) < 2 {
			t.Errorf("%s: %d links on the first page, %v", role, len(links), err)
		}
		for _, address := range links {
			if _, err := p.open(t.Context(), address); err != nil {
				t.Errorf("%s: %s: %v", role, address, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.stop = cancel
	r := c.Stop()
	if ctx.Err() == nil || r.Total.Views < 12 || len(r.Pages) < 5 || r.Pages[0].P99 < r.Pages[len(r.Pages)-1].P99 || r.Pages[0].Bytes == 0 ||
		!slices.ContainsFunc(r.Pages, func(p Page) bool { return strings.HasPrefix(p.Kind, "/console/ledger/") }) {
		t.Errorf("%+v", r)
	}
}
