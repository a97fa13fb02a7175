package api_test

import (
	"strings"
	"testing"
)

// A name with a character that reverses the direction of text would be read as another name: "moc.elpmaxe" as "example.com".
func TestNamesMayNotChangeTheTextAroundThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	partnerPath := "/api/v1/partners/1"
	for _, control := range []string{"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u2028", "\u2029", "\ufeff"} {
		name := "Tea" + control + "shop"
		for _, r := range []*response{
			f.admin().patch(partnerPath, `{"name":"`+name+`"}`),
			f.admin().patch(partnerPath, `{"branding":{"display_name":"`+name+`"}}`),
			f.partner().post(linksPath, link(`"name":"`+name+`",`)),
			f.partner().post(productsPath, `{"header":"`+name+`","text":"x"}`),
		} {
			if r.status != 422 || !strings.Contains(r.body, "must not hold invisible characters") {
				t.Errorf("%+q: %d %s", control, r.status, r.body)
			}
		}
	}
	// Ordinary names in some languages contain zero-width joiners and marks of the text's direction, so these characters are
	// accepted.
	const persian = "می\u200cخواهم\u200f"
	f.admin().patch(partnerPath, `{"branding":{"display_name":"`+persian+`"}}`).want(200, "").wantFields(map[string]string{"data.branding.display_name": persian})
	created := f.testLink(`"name":"`+persian+`","description":"\u202eeert",`, `"default":100`, "fixed")
	page := f.browse(created.at("data.url")).wantPage(200, persian)
	if !strings.Contains(page.body, "<bdi>\u202eeert</bdi>") || !strings.Contains(page.body, "<bdi>"+persian+"</bdi></span></header>") {
		t.Errorf("a text of the merchant is not isolated: %s", page.body)
	}
}
