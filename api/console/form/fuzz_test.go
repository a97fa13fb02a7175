package form

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// records are the records that the forms of the fuzz test change, by operation.
var records = map[string]string{
	"patchPartner":  partner,
	"patchTerminal": `{"name":"T","merchant_params":{"secret":"•••","hosted_attempts":3,"notify_statuses":"all"},"provider_params":{"min_amount":"5"}}`,
	"patchLink":     `{"env":"test","amount":{"currency":"USDT","network":"tron","default":"1","min":null},"products":[]}`,
}

// FuzzPostedForms posts arbitrary forms. Nothing may panic, the body for the API must be JSON whose size is bounded by that of
// the form, and the page that shows the form again must be well-formed and show no typed text as markup.
func FuzzPostedForms(f *testing.F) {
	for _, seed := range []string{
		"name=a&active=true&overdraft_limit.0.currency=USD&overdraft_limit.0.amount=1.5", "overdraft_limit.99999999999.amount=1&overdraft_limit.-1.x=2&overdraft_limit=z",
		"branding=x&branding.color=%00&branding.color.more=1", strings.Repeat("a.", 60) + "=1", "_shown={\"name\":5}&name=x", "_shown=[[[[&name=x", "_add=overdraft_limit&overdraft_limit.0._drop=1",
		"provider_params.fee_bps=٣&provider_params.currencies=USD&provider_params.currencies=%22", "amount.default=1e9&amount.currency=USDT&amount.min=9999999999999999999999999999", "metadata={\"a\":[1,2,{}]}",
		"secret._clear=1&secret=%3Cscript%3E&merchant_params.notify_statuses=all", "name=%3C%2Ftextarea%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E&source_addresses=%3C%2Ftextarea%3E%3Cscript%3E",
	} {
		f.Add(seed, "patchPartner", "ru")
		f.Add(seed, "createTerminal", "ar")
		f.Add(seed, "patchLink", "en")
	}
	f.Fuzz(func(t *testing.T, query, operation, lang string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		record, changes := records[operation]
		form := formFor("createTerminal", lang)
		if changes {
			form = changing(operation, lang, record)
			form.IsMerged = func(name string) bool { return name == "branding" }
		}
		object, problems, _ := form.Parse(values)
		body := Body(object)
		if !json.Valid(body) || len(body) > 12*len(query)+2*len(record)+100 {
			t.Fatalf("%d bytes of a form become %d bytes: %s", len(query), len(body), body)
		}
		page := string(form.View(values, problems).HTML(Post{Action: "/x"}))
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for node := range root.Descendants() {
			if node.Data == "script" && node.Type == html.ElementNode {
				t.Fatalf("a script in %s", page)
			}
		}
	})
}
