package form

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mizan/api/console/labels"
	"mizan/api/console/texts"
)

// controls are the elements in which people type or choose a value.
var controls = map[string]bool{"input": true, "select": true, "textarea": true}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// checkForm checks that each control has a name and a label, that ids are unique, and that the elements that describe a control
// exist.
func checkForm(t *testing.T, name string, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids, labelled := make(map[string]bool), make(map[string]bool)
	for n := range root.Descendants() {
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("%s: the id %s is there twice", name, id)
			}
			ids[id] = true
		}
		if n.Data == "label" {
			labelled[attribute(n, "for")] = true
		}
	}
	for n := range root.Descendants() {
		if !controls[n.Data] || attribute(n, "type") == "hidden" {
			continue
		}
		if attribute(n, "name") == "" {
			t.Errorf("%s: a %s without a name", name, n.Data)
		}
		if isInLabel := n.Parent.Data == "label"; !isInLabel && !labelled[attribute(n, "id")] {
			t.Errorf("%s: %s has no label", name, attribute(n, "name"))
		}
		for id := range strings.FieldsSeq(attribute(n, "aria-describedby")) {
			if !ids[id] {
				t.Errorf("%s: %s is described by %s, which is not there", name, attribute(n, "name"), id)
			}
		}
	}
}

func TestEveryControlHasALabel(t *testing.T) {
	for _, lang := range texts.Languages() {
		for _, o := range catalog.Operations() {
			if len(o.Body) == 0 {
				continue
			}
			form := &Form{Fields: o.Body, Texts: labels.In(lang)}
			problems := new(Problems)
			for _, f := range o.Body {
				problems.add(f.Name, "is wrong")
			}
			checkForm(t, lang+" "+o.ID, string(form.View(nil, nil).HTML(Post{Action: "/x"})))
			checkForm(t, lang+" "+o.ID, string(form.View(url.Values{"name": {"<b>"}}, problems).HTML(Post{Action: "/x"})))
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	f := changing("patchPartner", "en", partner)
	page := string(f.View(posted(t, "pass=typed-one&secret=typed-two&name=typed-three"), &Problems{General: []string{"refused"}}).HTML(Post{Action: "/x"}))
	for text, want := range map[string]bool{"typed-one": false, "typed-two": false, "typed-three": true, `name="secret._clear"`: true, `name="pass._clear"`: false, "Leave this empty to keep it": true} {
		if strings.Contains(page, text) != want {
			t.Errorf("%q: %t, want %t in %s", text, !want, want, page)
		}
	}
	if shown := f.View(nil, nil).Shown; strings.Contains(shown, "***") {
		t.Errorf("the values that the form showed have a secret: %s", shown)
	}
}

func TestFormShowsTheRecordAsItIsTyped(t *testing.T) {
	page := string(changing("patchPartner", "ru", partner).View(nil, nil).HTML(Post{Action: "/x"}))
	for _, part := range []string{`name="overdraft_limit.0.amount" value="10,50"`, `name="overdraft_limit.1.amount" value=""`, `name="branding.color" value="#112233"`, `name="active" value="true" checked`, ">\n10.0.0.0/8</textarea>"} {
		if !strings.Contains(page, part) {
			t.Errorf("%s is not in %s", part, page)
		}
	}
}

func TestRowsAreBounded(t *testing.T) {
	query := url.Values{}
	for i := range MaxRows + 1 {
		query.Set("overdraft_limit."+number(i)+".currency", "USD")
		query.Set("overdraft_limit."+number(i)+".amount", "1")
	}
	wantProblem(t, formFor("createPartner", "en"), query.Encode(), "overdraft_limit", "At most 200 rows.")
	query.Del("overdraft_limit.7.currency")
	query.Del("overdraft_limit.7.amount")
	object, problems, _ := formFor("createPartner", "en").Parse(query)
	if rows, _ := object["overdraft_limit"].([]any); len(rows) != MaxRows || !problems.None() {
		t.Errorf("%d rows, %v", len(rows), problems)
	}
	view := formFor("createPartner", "en").View(query, nil)
	for _, in := range view.Inputs {
		if in.Name == "overdraft_limit" && len(in.Rows) != MaxRows {
			t.Errorf("the form shows %d rows", len(in.Rows))
		}
	}
}

func TestFiltersAreAskedAsTheAPITakesThem(t *testing.T) {
	fields := catalog.Operation("listDeliveries").Filters
	en := labels.In("en")
	requestedQuery, problems := FilterQuery(en, fields, posted(t, "from=2026-01-02T03:04&state=parked&to=&_env=x&unknown=1&cursor=c"))
	if got := requestedQuery.Encode(); got != "cursor=c&from=2026-01-02T03%3A04%3A00Z&state=parked&unknown=1" || !problems.None() {
		t.Errorf("%s, %v", got, problems)
	}
	_, problems = FilterQuery(en, fields, posted(t, "from=x"))
	if got := strings.Join(problems.Fields["from"], ""); got != en.Form.BadInstant {
		t.Errorf("from: %q", got)
	}
	filters := NewFilters(en, "deliveries", "/console/x", fields, posted(t, "state=parked"), nil)
	page := string(filters.HTML())
	checkForm(t, "filters", page)
	for _, part := range []string{`<option value="parked" selected>`, `<option value="">Any</option>`, `method="get"`, ">Clear</a>"} {
		if !strings.Contains(page, part) {
			t.Errorf("%s is not in %s", part, page)
		}
	}
}
