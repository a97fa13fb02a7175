package console_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"mizan/api/console"
	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

// roles are the persons of the sandbox who walk through the console. The last one is an administrator who has pasted the
// administration token.
var roles = []string{"partner", "admin", "auditor", "client", operator}

const operator = "operator"

// visitor returns the browser of a person with a role.
func visitor(t testing.TB, s *testkit.Server, role string) *consoletest.Browser {
	t.Helper()
	if role != operator {
		return consoletest.As(t, s, role)
	}
	b := consoletest.As(t, s, "admin")
	b.Get("/console/admin/token").Form("/console/admin/token").Set("token", s.Sandbox.AdminToken).Submit("").Want(200)
	return b
}

// pattern returns the pattern of the console's GET route that serves a path; empty: no route does.
func pattern(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	best, fewest := "", len(parts)+1
	for _, route := range pages() {
		names := strings.Split(route, "/")
		if len(names) != len(parts) {
			continue
		}
		parameters, fits := 0, true
		for i, name := range names {
			if strings.HasPrefix(name, ":") && parts[i] != "" {
				parameters++
			} else if name != parts[i] {
				fits = false
			}
		}
		if fits && parameters < fewest {
			best, fewest = route, parameters
		}
	}
	return best
}

// pages returns the patterns of all pages of the console.
func pages() (patterns []string) {
	for _, r := range console.New(console.Config{}).Routes() {
		if r.Method == "GET" && !strings.HasSuffix(r.Path, "*") {
			patterns = append(patterns, r.Path)
		}
	}
	return patterns
}

// unlinked are the patterns of pages to which no page of a walk links. The page of a screening's result is shown when the form of
// the screening is posted.
var unlinked = []string{"/console", "/console/login", "/console/assets/:name", "/console/contracts/islamic-banking/screening/:id"}

// eachPattern is the maximum number of addresses of one pattern that one person opens in a language.
var eachPattern = map[string]int{"en": 4, "ar": 2, "ru": 1}

// Every page of the console can be reached by links, and for each person every link opens a page.
func TestEveryPageIsFoundByLinks(t *testing.T) {
	t.Parallel()
	s := start(t)
	consoletest.Fill(t, s)
	found := make(map[string]bool)
	for _, lang := range []string{"en", "ar", "ru"} {
		for _, role := range roles {
			b := visitor(t, s, role).With("Accept-Language", lang)
			w := &walk{t: t, browser: b, role: role, lang: lang, secrets: secretsOf(s), opened: make(map[string]bool), counts: make(map[string]int), found: found}
			w.follow("/console/", "the address bar", false)
			w.walkAll()
		}
	}
	for _, p := range pages() {
		if !found[p] && !slices.Contains(unlinked, p) {
			t.Errorf("no link leads to %s", p)
		}
	}
	if t.Failed() {
		t.Logf("found: %v", slices.Sorted(maps.Keys(found)))
	}
}

// asked has the values that a person types into forms that need a value. The month is the present one. For the server it has
// ended, because consoletest.Fill moves the server's clock beyond it.
var asked = map[string]string{"partner_id": "1", "month": time.Now().UTC().Format("2006-01"), "q": "tea", "env": "test"}

// walk is the way of one person through all pages.
type walk struct {
	t          *testing.T
	browser    *consoletest.Browser
	role, lang string
	secrets    []string
	todo       []step
	opened     map[string]bool
	counts     map[string]int
	found      map[string]bool // patterns that any of the walks has found
}

// step is an address to open.
type step struct {
	address, from string // from: the page that links there
	isPart        bool   // a script loads the address into the page
}

// follow remembers an address of the console, to open it later. It ignores an address that was opened already, and one for whose
// pattern and parameters enough addresses were opened.
func (w *walk) follow(address, from string, isPart bool) {
	address, _, _ = strings.Cut(address, "#")
	if !strings.HasPrefix(address, "/console") || strings.HasPrefix(address, "/console/assets/") || w.opened[address] {
		return
	}
	parsed, err := url.Parse(address)
	if err != nil {
		w.t.Errorf("%s links to %q", from, address)
		return
	}
	key := pattern(parsed.Path) + " " + product(parsed.Path) + fmt.Sprint(slices.Sorted(maps.Keys(parsed.Query())))
	if w.counts[key]++; w.counts[key] <= eachPattern[w.lang] {
		w.opened[address] = true
		w.todo = append(w.todo, step{address, from, isPart})
	}
}

// product returns the product of contracts that a path names. It makes the walk open the pages of each product.
func product(path string) string {
	parts := strings.Split(path, "/")
	if i := slices.Index(strings.Split(pattern(path), "/"), ":product_type"); i >= 0 {
		return parts[i]
	}
	return ""
}

func (w *walk) walkAll() {
	for len(w.todo) > 0 {
		next := w.todo[0]
		w.todo = w.todo[1:]
		b := w.browser
		if next.isPart {
			b = b.With("HX-Request", "true")
		}
		p := b.Get(next.address)
		if fault := faultOf(p, w.secrets, ""); fault != "" || p.Status != 200 {
			w.t.Errorf("%s in %s: %s, to which %s links: %d %s %.300s", w.role, w.lang, next.address, next.from, p.Status, fault, p.Text())
		}
		w.found[pattern(next.address)] = true
		w.found[pattern(p.Path)] = true
		if !p.IsPage() {
			continue
		}
		if lang, dir := p.Lang(); lang != w.lang || (dir == "rtl") != (w.lang == "ar") {
			w.t.Errorf("%s as %s: the page is in %q, written %s", next.address, w.role, lang, dir)
		}
		isNamed := strings.Contains(pattern(p.Path), ":") // the title may be the name of a record, which may begin with a small letter
		if title := p.Title(); !isNamed && strings.IndexFunc(title, unicode.IsLower) == 0 {
			w.t.Errorf("%s as %s: the title %q begins with a small letter", next.address, w.role, title)
		}
		for _, address := range p.References("href", "src") {
			w.follow(address, p.Path, false)
		}
		for _, address := range p.References("hx-get") {
			w.follow(address, p.Path, true)
		}
		for _, f := range p.Forms() {
			if address, isPosted := f.Action(); !isPosted {
				address, _, _ = strings.Cut(address, "?")
				w.follow(address+"?"+f.Values().Encode(), p.Path, false)
				for name, value := range asked {
					if f.Values().Has(name) {
						f.Set(name, value)
					}
				}
				w.follow(address+"?"+f.Values().Encode(), p.Path, false)
			}
		}
	}
}

// secretsOf returns texts that may be in no page and in no address.
func secretsOf(s *testkit.Server) []string {
	b := &s.Sandbox
	return []string{b.AdminToken, b.APIKey, b.SessionToken, b.AuditorToken, b.PartnerPass, b.AdminPass, b.AuditorPass, b.ClientPass, b.Second.APIKey, b.Second.SessionToken}
}

// templateErrors matches texts that a template writes in the place of a value that it cannot show.
var templateErrors = regexp.MustCompile(`<no value>|&lt;no value&gt;|ZgotmplZ|%!|\{\{|&lt;nil&gt;|map\[|0x[0-9a-f]{8}|template: |runtime error|\bNaN\b|\[object Object\]`)

// faultOf describes a fault of a response that no response may have, or returns "" if there is none. typed is a text that the page may
// quote, because the visitor has typed it.
func faultOf(p *consoletest.Page, secrets []string, typed string) string {
	switch {
	case p.Status >= 500 && p.Status != 503:
		return "the server failed"
	case p.Header.Get("X-Request-Id") == "":
		return "no request id"
	}
	for _, secret := range secrets {
		if strings.Contains(p.Body, secret) || strings.Contains(p.Header.Get("Location"), secret) || strings.Contains(p.Path, url.QueryEscape(secret)) {
			return "a secret is shown"
		}
	}
	if !p.IsPage() {
		return ""
	}
	if found := templateErrors.FindString(strings.ReplaceAll(p.WholeText(), typed, "")); found != "" {
		return fmt.Sprintf("the page has %q", found)
	}
	for _, address := range p.References("href", "src", "action", "hx-get", "hx-post") {
		if strings.Contains(address, "csrf") || strings.Contains(address, "form_key") || strings.Contains(address, "mzs_") || strings.Contains(address, "mzk_") || strings.Contains(address, "mza_") {
			return "an address has a secret: " + address
		}
	}
	return ""
}
