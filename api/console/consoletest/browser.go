package consoletest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// Browser is a person's simulated browser.
type Browser struct {
	t            testing.TB
	base         string
	organization string
	client       *http.Client
	header       http.Header // sent with every request
}

// Open returns a browser without cookies. LogIn logs in to the sandbox's first organization.
func Open(t testing.TB, s *testkit.Server) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{
		t: t, base: s.BaseURL, organization: s.Sandbox.OrganizationID, header: http.Header{},
		client: &http.Client{Transport: s.Transport(), Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// As returns a browser in which a person of the sandbox has logged in. The person has the given role: admin, auditor, client or
// partner.
func As(t testing.TB, s *testkit.Server, role string) *Browser {
	t.Helper()
	login, pass := s.Sandbox.ConsoleLogin(role)
	b := Open(t, s)
	b.LogIn(login, pass).Want(http.StatusOK)
	return b
}

// With returns a browser that has the same cookies and also sends a header with every request. If value is empty, the header is
// no longer sent.
func (b *Browser) With(name, value string) *Browser {
	next := *b
	next.header = b.header.Clone()
	if next.header.Set(name, value); value == "" {
		next.header.Del(name)
	}
	return &next
}

// In returns a browser that has the same cookies and logs in to another organization.
func (b *Browser) In(organization string) *Browser {
	next := *b
	next.organization = organization
	return &next
}

// LogIn logs in, and returns the page that follows. If the login fails, the login page follows again.
func (b *Browser) LogIn(login, pass string) *Page {
	b.t.Helper()
	return b.Get("/console/login?organization="+b.organization).Form("/console/login").Set("login", login).Set("pass", pass).Submit("")
}

// Cookie returns the value of a cookie of the console. If there is no such cookie, the value is empty.
func (b *Browser) Cookie(name string) string {
	address, err := url.Parse(b.base + "/console/")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(address) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// SetCookie replaces the value of a cookie.
func (b *Browser) SetCookie(name, value string) {
	address, err := url.Parse(b.base + "/console/")
	if err != nil {
		b.t.Fatal(err)
	}
	b.client.Jar.SetCookies(address, []*http.Cookie{{Name: name, Value: value, Path: "/console"}})
}

// maxRedirects is the greatest number of redirects that may follow one request.
const maxRedirects = 5

// Get opens a path and follows redirects.
func (b *Browser) Get(path string) *Page {
	b.t.Helper()
	return b.follow(b.Send(http.MethodGet, path, nil))
}

// Post sends a form to a path, and follows redirects. No page need contain the form.
func (b *Browser) Post(path string, form url.Values) *Page {
	b.t.Helper()
	return b.follow(b.Send(http.MethodPost, path, form))
}

func (b *Browser) follow(p *Page) *Page {
	b.t.Helper()
	for range maxRedirects {
		if p.Status != http.StatusSeeOther {
			return p
		}
		next := p.Header.Get("Location")
		if !strings.HasPrefix(next, "/console") {
			b.t.Fatalf("%s leads to %q", p.Path, next)
		}
		p = b.Send(http.MethodGet, next, nil)
	}
	b.t.Fatalf("%s: more than %d redirects", p.Path, maxRedirects)
	return p
}

// Send makes a request and returns the response. It does not follow redirects. form is nil for a GET.
func (b *Browser) Send(method, path string, form url.Values) *Page {
	b.t.Helper()
	if form == nil {
		return b.send(method, path, "", nil)
	}
	return b.send(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// send makes a request. If contentType is not empty, the request has a body.
func (b *Browser) send(method, path, contentType string, body io.Reader) *Page {
	b.t.Helper()
	request, err := http.NewRequest(method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header = b.header.Clone()
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
		if request.Header.Get("Origin") == "" {
			request.Header.Set("Origin", b.base)
		}
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	p := &Page{browser: b, Path: path, Status: response.StatusCode, Header: response.Header, Body: string(content)}
	p.check(method)
	return p
}
