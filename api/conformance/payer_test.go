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

// payer is a person with a browser that runs no script and does not follow redirects
// automatically.
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
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
})

// page is a page that the payer sees.
type page struct {
	*answer
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
	response, err := client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return &page{&answer{p.t, response.StatusCode, response.Header, string(body), method + " " + address}, address}
}

// open opens an address and follows redirects as long as they lead to the service. For another
// target it returns only the address.
func (p payer) open(address string) *page { p.t.Helper(); return p.follow(p.get(address)) }

func (p payer) follow(shown *page) *page {
	p.t.Helper()
	for range 10 {
		if shown.status != http.StatusSeeOther {
			return shown
		}
		next := shown.resolve(shown.header.Get("location"))
		if !strings.HasPrefix(next, open(p.t).BaseURL+"/") {
			return &page{&answer{t: p.t, called: next}, next}
		}
		shown = p.get(next)
	}
	p.t.Fatalf("redirects without end, at %s", shown.address)
	return nil
}

func (s *page) resolve(address string) string {
	s.t.Helper()
	base, err := url.Parse(s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	next, err := base.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	return next.String()
}

var (
	formTag  = regexp.MustCompile(`<form method="post" action="([^"]*)">`)
	inputTag = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// send fills in the page's form and sends it; fields are name, value pairs, including those of
// a button.
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

// unescape reverts html/template's escaping in the service's own attributes.
func unescape(attribute string) string {
	return strings.NewReplacer("&amp;", "&", "&#43;", "+", "&#34;", `"`, "&#39;", "'").Replace(attribute)
}

// wantAway checks that the payer has been redirected to another site.
func (s *page) wantAway(address string) {
	s.t.Helper()
	if s.status != 0 || s.address != address {
		s.t.Errorf("the payer is at %s (%d), want %s", s.address, s.status, address)
	}
}

// want ends the test if the page has another status.
func (s *page) want(status int) *page {
	s.t.Helper()
	s.answer.want(status)
	return s
}
