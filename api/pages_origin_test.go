package api_test

import (
	"net/url"
	"strings"
	"testing"

	"mizan/api"
)

// sendFrom posts a form with further headers, such as Origin, with which a browser says which site's page has the form.
func (f *fixture) sendFrom(address string, form url.Values, headers ...string) *response {
	f.t.Helper()
	c := f.anyone().with("content-type", "application/x-www-form-urlencoded").with(headers...)
	return c.post(strings.TrimPrefix(address, f.base()), form.Encode())
}

func TestFormsOfOtherSitesDoNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":100`, "fixed").at("data.url")
	product := f.partner().post(productsPath, `{"header":"Tea","text":"Green","price":450,"currency":"USD","env":"test"}`).want(201, "").at("data.url")
	hosted := f.createHosted("")
	pay := hosted.at("widget_url")
	for _, headers := range [][]string{
		{"sec-fetch-site", "cross-site"},
		{"sec-fetch-site", "same-site"},
		{"sec-fetch-site", "cross-site", "origin", "null"},
		{"sec-fetch-site", "cross-site", "origin", f.base()},
		{"origin", "https://evil.example"},
		{"origin", f.base() + ".evil.example"},
		{"origin", "garbage"},
	} {
		for address, form := range map[string]url.Values{link: {}, product: {}, pay: card("4242424242424242")} {
			r := f.sendFrom(address, form, headers...)
			if location := r.header.Get("location"); r.status != 303 || location != strings.TrimPrefix(address, f.base()) {
				t.Errorf("%v: %d %q for %s", headers, r.status, location, address)
			}
		}
		f.sendFrom(pay, url.Values{"cancel": {"1"}}, headers...).wantStatusOf(303)
	}
	f.transaction(hosted.at("id")).wantStatus("created", "")
	if rows := f.partner().get(transactions + "?env=test").rows(); rows != 1 {
		t.Errorf("%d transactions, one was created by the merchant", rows)
	}
}

func TestFormsOfThePagesAreAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, headers := range [][]string{
		{}, // the client is a program, not a browser
		{"origin", "null"},
		{"origin", f.base()},
		{"origin", "HTTP://" + f.address},
		{"sec-fetch-site", "same-origin", "origin", "null"},
		{"sec-fetch-site", "same-origin", "origin", "https://evil.example"},
		{"sec-fetch-site", "none"},
	} {
		link := f.testLink("", `"default":100`, "fixed")
		r := f.sendFrom(link.at("data.url"), url.Values{}, headers...)
		path := r.header.Get("location")
		if r.status != 303 || !strings.Contains(path, "token=") {
			t.Fatalf("%v: %d %q", headers, r.status, path)
		}
		f.sendFrom(path, card("4242424242424242"), headers...).wantStatusOf(303)
		f.partner().get(transactions + "?env=test&link_id=" + link.at("data.id")).wantFields(map[string]string{"data.0.status": "charged", "data.1": "(absent)"})
	}
}

// A form is accepted if its origin is that of the base URL, which browsers use behind a proxy, or of the host to which the
// request was sent, such as localhost.
func TestFormsAreComparedWithTheBaseURLAndTheHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.Pages.Base = "https://pay.example" })
	path := strings.TrimPrefix(f.testLink("", `"default":100`, "fixed").at("data.url"), f.base())
	for origin, isOwn := range map[string]bool{"https://pay.example": true, f.base(): true, "https://pay.example:444": false, "http://pay.example": false} {
		r := f.sendFrom(path, url.Values{}, "origin", origin)
		if began := strings.Contains(r.header.Get("location"), "token="); r.status != 303 || began != isOwn {
			t.Errorf("%s: %d %v", origin, r.status, r.header)
		}
	}
}

// Providers and banks may send payers back with a form on their own sites, so the return page accepts forms from other sites.
func TestPayersReturnFromOtherSites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.charge("4000000000003220")
	challenge := f.browse(created.at("simple_auth_redirect_url"))
	action, fields := challenge.form()
	fields.Set("decision", "approve")
	decided := f.sendFrom(action, fields, "sec-fetch-site", "cross-site", "origin", "https://shop.example")
	decided.wantStatusOf(303)
	back := decided.header.Get("location")
	f.transaction(created.at("id")).wantStatus("charged", "")
	if r := f.sendFrom(back, url.Values{}, "sec-fetch-site", "cross-site", "origin", "https://bank.example"); r.status != 303 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
