package clicks

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	firstPage = "/console/"

	// A person reads a page for meanReading on average. Then the person follows a link or, once in restartEvery pages on
	// average, returns to the first page.
	meanReading  = time.Second
	restartEvery = 20

	maxPage = 8 << 20 // bytes
)

// Login has the credentials with which a person logs in.
type Login struct{ Organization, Name, Password string }

// person is a simulated user who is logged in.
type person struct {
	client *http.Client
	base   string
	random *rand.Rand
	crowd  *Users
}

// logIn logs a person in. Each person has an HTTP client with its own cookies; all these clients share one transport.
func logIn(ctx context.Context, c *Users, login Login, seed uint64) (*person, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	p := &person{
		client: &http.Client{
			Transport: c.client.Transport, Timeout: c.client.Timeout, Jar: jar,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: c.base, random: rand.New(rand.NewPCG(seed, 1)), crowd: c,
	}
	form := url.Values{"organization": {login.Organization}, "login": {login.Name}, "pass": {login.Password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/console/login", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", p.base)
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		return nil, fmt.Errorf("clicks: the login of %s got HTTP %d", login.Name, response.StatusCode)
	}
	return p, nil
}

// click follows links until ctx ends.
func (p *person) click(ctx context.Context) {
	address := firstPage
	for p.pause(ctx) {
		links, err := p.open(ctx, address)
		if ctx.Err() != nil {
			return
		}
		p.crowd.countError(address, err)
		address = firstPage
		if len(links) > 0 && p.random.IntN(restartEvery) > 0 {
			address = links[p.random.IntN(len(links))]
		}
	}
}

// pause waits while the person reads. It returns false if ctx has ended.
func (p *person) pause(ctx context.Context) bool {
	t := time.NewTimer(meanReading/2 + time.Duration(p.random.Int64N(int64(meanReading))))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// open reads a page, measures how long that takes, and returns the addresses of the pages to which it links.
func (p *person) open(ctx context.Context, address string) (links []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Language", "en")
	began := time.Now()
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	switch {
	case response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest:
		target, err := response.Location()
		if err != nil {
			return nil, err
		}
		if target.Path == "/console/login" {
			return nil, errors.New("the session has ended")
		}
		return []string{target.RequestURI()}, nil
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", response.StatusCode)
	case !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html"):
		return nil, nil // a file to download
	}
	p.crowd.count(Kind(address), took, len(content))
	return pagesIn(string(content)), nil
}

var (
	link = regexp.MustCompile(`<a [^>]*href="(/console/[^"#]*)`)

	// file matches the addresses of downloads, such as exports, which are not pages.
	file = regexp.MustCompile(`\.(csv|svg|png|js|css)(\?|$)|/exports?/|format=`)

	number = regexp.MustCompile(`^[0-9][0-9-]*$|^[0-9a-f]{8}-[0-9a-f-]{27}$`)
)

// pagesIn returns the addresses of the console's pages that the given page links to.
func pagesIn(content string) (addresses []string) {
	for _, match := range link.FindAllStringSubmatch(content, -1) {
		if address := html.UnescapeString(match[1]); !file.MatchString(address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// Kind returns the kind of page at an address: its path, with a colon in place of each id.
func Kind(address string) string {
	path, _, _ := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if number.MatchString(part) || strings.ContainsAny(part, ":%") {
			parts[i] = ":"
		}
	}
	return strings.Join(parts, "/")
}
