package conformance_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// payer is a person with a browser. The browser runs no script and does not follow redirects
// by itself.
type payer struct{ t testing.TB }

// browser is shared by all payers, because none of them has a cookie.
var browser = sync.OnceValues(func() (*http.Client, error) {
	ca, err := os.ReadFile(sandbox.server.Sandbox.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{
		Transport:     sandbox.checked(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
})

// page is a page that the payer sees.
type page struct {
	*response
	address string
}

func (p payer) get(address string) *page { p.t.Helper(); return p.ask("GET", address, nil) }

func (p payer) ask(method, address string, form url.Values) *page {
	p.t.Helper()
	client, err := browser()
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("content-type", "application/x-www-form-urlencoded")
	}
	received, err := client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = received.Body.Close() }()
	body, err := io.ReadAll(received.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return &page{&response{p.t, received.StatusCode, received.Header, string(body), method + " " + address}, address}
}

// open opens an address and follows redirects within the service. If a redirect leads to another
// site, open returns only its address.
func (p payer) open(address string) *page { p.t.Helper(); return p.follow(p.get(address)) }

func (p payer) follow(from *page) *page {
	p.t.Helper()
	for range 10 {
		if from.status != http.StatusSeeOther {
			return from
		}
		next := from.resolve(from.header.Get("location"))
		if !strings.HasPrefix(next, testServer(p.t).BaseURL+"/") {
			return &page{&response{t: p.t, called: next}, next}
		}
		from = p.get(next)
	}
	p.t.Fatalf("redirects without end, at %s", from.address)
	return nil
}

func (p *page) resolve(address string) string {
	p.t.Helper()
	base, err := url.Parse(p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	next, err := base.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	return next.String()
}

var (
	formTag  = regexp.MustCompile(`<form method="post" action="([^"]*)">`)
	inputTag = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// send fills in the page's form and sends it. fields are name, value pairs, including the name and value of
// the pressed button.
func (p payer) send(shown *page, fields ...string) *page {
	p.t.Helper()
	form := formTag.FindStringSubmatch(shown.body)
	if form == nil {
		p.t.Fatalf("%s shows no form: %d %s", shown.address, shown.status, shown.body)
	}
	values := url.Values{}
	for _, hidden := range inputTag.FindAllStringSubmatch(shown.body, -1) {
		values.Set(unescape(hidden[1]), unescape(hidden[2]))
	}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return p.follow(p.ask("POST", shown.resolve(unescape(form[1])), values))
}

// unescape undoes html/template's escaping in the attributes of the service's pages.
func unescape(attribute string) string {
	return strings.NewReplacer("&amp;", "&", "&#43;", "+", "&#34;", `"`, "&#39;", "'").Replace(attribute)
}

// wantRedirectedTo checks that the payer has been redirected to another site.
func (p *page) wantRedirectedTo(address string) {
	p.t.Helper()
	if p.status != 0 || p.address != address {
		p.t.Errorf("the payer is at %s (%d), want %s", p.address, p.status, address)
	}
}

// want ends the test if the page has another status.
func (p *page) want(status int) *page {
	p.t.Helper()
	p.response.want(status)
	return p
}
