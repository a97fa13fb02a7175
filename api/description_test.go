package api_test

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mizan/api/description"
	"mizan/api/description/descriptiontest"
	"mizan/api/description/operations"
	"mizan/api/description/spec"
)

// patternOf converts a path of the description, such as /links/{id}, to a pattern of the router, such as /links/:id.
func patternOf(path string) string { return spec.RoutePath(path) }

func TestEveryRouteIsDescribedAndEveryPathIsARoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	routes, paths := f.server.Routes(), described.checker.Paths()
	for _, route := range routes {
		if strings.HasSuffix(route.Path, "*") {
			continue // a catch-all route
		}
		if !slices.ContainsFunc(paths, func(name string) bool {
			method, path, _ := strings.Cut(name, " ")
			return method == route.Method && (patternOf(path) == route.Path || matchesPattern(patternOf(path), route.Path))
		}) {
			t.Errorf("%s %s is not described", route.Method, route.Path)
		}
	}
	for _, name := range paths {
		method, path, _ := strings.Cut(name, " ")
		isServed := false
		for _, route := range routes {
			isServed = isServed || method == route.Method && (patternOf(path) == route.Path || matchesPattern(patternOf(path), route.Path))
		}
		if !isServed {
			t.Errorf("%s is described, and is no route", name)
		}
	}
}

func TestEveryOperationIsInTheDocument(t *testing.T) {
	t.Parallel()
	newFixture(t)
	names, ids := described.checker.Paths(), map[string]bool{}
	for _, o := range operations.Contents().Operations {
		if !slices.Contains(names, o.Method+" "+o.Path) {
			t.Errorf("%s: no route serves %s %s", o.ID, o.Method, o.RouteOf())
		}
		if ids[o.ID] {
			t.Errorf("two operations %s", o.ID)
		}
		ids[o.ID] = true
		if o.Summary == "" || strings.HasSuffix(o.Summary, ".") {
			t.Errorf("%s: summary %q", o.ID, o.Summary)
		}
	}
}

// kin-openapi checks the document: its structure, references, patterns and examples.
func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	newFixture(t)
	if err := described.checker.Validate(); err != nil {
		t.Error(err)
	}
}

func TestDocumentIsServedAsJSONAndAsYAML(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inJSON, inYAML := f.anyone().get("/openapi.json").want(200, ""), f.anyone().get("/openapi.yaml").want(200, "")
	if inJSON.header.Get("content-type") != "application/json" || inYAML.header.Get("content-type") != "application/yaml" {
		t.Errorf("types %q and %q", inJSON.header.Get("content-type"), inYAML.header.Get("content-type"))
	}
	if inJSON.at("openapi") != "3.1.0" || inJSON.at("info.version") != "v0.0.0-test" {
		t.Errorf("openapi %s, version %s", inJSON.at("openapi"), inJSON.at("info.version"))
	}
	a, err := descriptiontest.Canonical([]byte(inJSON.body))
	must(t, err)
	b, err := descriptiontest.Canonical([]byte(inYAML.body))
	must(t, err)
	if !bytes.Equal(a, b) {
		t.Error("the YAML and the JSON are not the same document")
	}
}

// The description and the pages of the reference have an ETag, so that a browser or program that has them receives them again
// only after they have changed.
func TestDescriptionIsSentOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/", "/docs", "/docs/transactions", "/docs/errors", "/openapi.json", "/openapi.yaml"} {
		first := f.anyone().get(path).want(200, "")
		again := f.anyone().with("if-none-match", first.header.Get("etag")).get(path).want(304, "")
		if first.header.Get("cache-control") != "no-cache" || again.body != "" || again.header.Get("etag") != first.header.Get("etag") {
			t.Errorf("%s: %v, then %v %q", path, first.header, again.header, again.body)
		}
		f.anyone().with("if-none-match", `"another"`).get(path).want(200, "")
		f.anyone().do("HEAD", path, "").want(200, "")
	}
}

// The checker compares requests and responses with the API's description. It must find every kind of difference, or the tests
// that rely on it would prove nothing.
func TestCheckerFindsDifferences(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	header := http.Header{"X-Api-Key": {"k"}, "X-Organization-Id": {"o"}, "Content-Type": {"application/json"}}
	right := descriptiontest.Exchange{Method: "POST", Path: transactions, RequestHeader: header, RequestBody: []byte(paymentBody(`"amount":"1"`)),
		Status: 201, ResponseHeader: created.header, ResponseBody: []byte(created.body)}
	if err := described.checker.Check(&right); err != nil {
		t.Fatal(err)
	}
	changed := func(old, new string) []byte {
		t.Helper()
		if !strings.Contains(created.body, old) {
			t.Fatalf("no %s in %s", old, created.body)
		}
		return []byte(strings.Replace(created.body, old, new, 1))
	}
	for name, change := range map[string]func(x *descriptiontest.Exchange){
		"a member that is not described": func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`{`, `{"surprise":1,`) },
		"a missing member":               func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`"status":"charged",`, ``) },
		"another type":                   func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`"amount":"1"`, `"amount":1`) },
		"another word":                   func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`"charged"`, `"paid"`) },
		"a member inside an object":      func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`"brand":`, `"color":"red","brand":`) },
		"a null":                         func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`"amount":"1"`, `"amount":null`) },
		"an id that is none":             func(x *descriptiontest.Exchange) { x.ResponseBody = changed(`{"id":"`, `{"id":"x`) },
		"a status":                       func(x *descriptiontest.Exchange) { x.Status = 202 },
		"a refusal's status": func(x *descriptiontest.Exchange) {
			x.Status, x.ResponseBody = 404, []byte(`{"error":"not_found","message":"m"}`)
		},
		"another media type": func(x *descriptiontest.Exchange) {
			x.ResponseHeader = x.ResponseHeader.Clone()
			x.ResponseHeader.Set("content-type", "text/plain")
		},
		"a missing header": func(x *descriptiontest.Exchange) {
			x.ResponseHeader = x.ResponseHeader.Clone()
			x.ResponseHeader.Del("location")
		},
		"a header that is not described": func(x *descriptiontest.Exchange) {
			x.ResponseHeader = x.ResponseHeader.Clone()
			x.ResponseHeader.Set("x-surprise", "1")
		},
		"a request of another type": func(x *descriptiontest.Exchange) { x.RequestBody = []byte(paymentBody(`"amount":1`)) },
		"a request without params":  func(x *descriptiontest.Exchange) { x.RequestBody = []byte(`{}`) },
		"a request without a key":   func(x *descriptiontest.Exchange) { x.RequestHeader = http.Header{"Content-Type": {"application/json"}} },
		"a path that is none":       func(x *descriptiontest.Exchange) { x.Path = "/api/v1/transaction" },
	} {
		x := right
		if change(&x); described.checker.Check(&x) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// The checker finds an undescribed parameter in a read that is otherwise correct.
func TestCheckerFindsParametersThatAreNotDescribed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := transactions + "/" + f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
	read := f.partner().get(path).want(200, "")
	x := descriptiontest.Exchange{Method: "GET", Path: path, RequestHeader: http.Header{"X-Api-Key": {"k"}, "X-Organization-Id": {f.seed.First.Org.String()}},
		Status: 200, ResponseHeader: read.header, ResponseBody: []byte(read.body)}
	if err := described.checker.Check(&x); err != nil {
		t.Error(err)
	}
	if x.Path += "?surprise=1"; described.checker.Check(&x) == nil {
		t.Error("surprise is not found")
	}
}

func TestCheckerFindsDifferencesOfNotifications(t *testing.T) {
	t.Parallel()
	newFixture(t)
	hooks := operations.Contents().Webhooks
	example := hooks[slices.IndexFunc(hooks, func(h spec.Webhook) bool { return h.Example != "" })].Example
	if err := described.checker.CheckNotification(http.Header{"X-Webhook-Timestamp": {"1788430530"}, "User-Agent": {"u"}}, []byte(example)); err != nil {
		t.Error(err)
	}
	for name, change := range map[string][3]string{ // a text in the example, its replacement, and a header to add
		"a type":                         {"transaction.charged", "transaction.paid"},
		"a member that is not described": {`"data":{`, `"data":{"surprise":1,`},
		"a missing member":               {`"error_code":null,`, ``},
		"another type":                   {`"amount":"1000"`, `"amount":1000`},
		"a header that is not described": {"", "", "X-Surprise"},
		"a header of another form":       {"", "", "X-Webhook-Signature"},
	} {
		header := http.Header{}
		if change[2] != "" {
			header.Set(change[2], "1")
		}
		if described.checker.CheckNotification(header, []byte(strings.Replace(example, change[0], change[1], 1))) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// Every link in the API's reference points to an existing page. A link with a fragment points to an existing operation or object
// on that page.
func TestLinksOfTheReferenceLeadSomewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pages := map[string]string{}
	queue := []string{"/", "/docs", "/docs/search?q=transaction"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if _, seen := pages[path]; seen {
			continue
		}
		pages[path] = f.anyone().get(path).want(200, "").body
		for _, address := range addressesOf(pages[path]) {
			if page, _, _ := strings.Cut(address, "#"); strings.HasPrefix(page, "/docs") {
				queue = append(queue, page)
			}
		}
	}
	for path, body := range pages {
		for _, address := range addressesOf(body) {
			page, anchor, hasAnchor := strings.Cut(address, "#")
			switch {
			case page == "":
				page = path
			case !strings.HasPrefix(page, "/docs") && page != "/":
				if !slices.Contains([]string{"/openapi.json", "/openapi.yaml", "/api/v1/health", "/console"}, page) {
					t.Errorf("%s links to %s", path, address)
				}
				continue
			}
			if hasAnchor && !strings.Contains(pages[page], `id="`+anchor+`"`) {
				t.Errorf("%s links to %s, where nothing has this name", path, address)
			}
		}
	}
	if len(pages) < 20 {
		t.Errorf("%d pages", len(pages))
	}
}

var hrefs = regexp.MustCompile(`href="([^"]*)"`)

func addressesOf(page string) (addresses []string) {
	for _, found := range hrefs.FindAllStringSubmatch(page, -1) {
		addresses = append(addresses, strings.ReplaceAll(found[1], "&amp;", "&"))
	}
	return addresses
}

// The reference's pages show every object of the description, including objects to which no operation refers.
func TestEveryObjectOfTheDocumentIsOnAPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	document := f.server.Document()
	var pages strings.Builder
	for _, tag := range document.Tags {
		pages.WriteString(f.anyone().get("/docs/"+tag.Slug()).want(200, "").body)
	}
	pages.WriteString(f.anyone().get("/docs/errors").want(200, "").body)
	for _, component := range document.Schemas {
		if !strings.Contains(pages.String(), `id="`+component.Name+`"`) {
			t.Errorf("no page shows %s", component.Name)
		}
	}
	if !strings.Contains(pages.String(), "string (11 to 2000 characters)") {
		t.Error("no page shows the least length of asset_description")
	}
}

// Each page of the reference has an introduction, and the texts of the description do not contradict the schemas that they
// describe.
func TestTextsFitWhatTheyDescribe(t *testing.T) {
	t.Parallel()
	contents := operations.Contents()
	for _, tag := range contents.Tags {
		if tag.Text == "" {
			t.Errorf("the page %s says nothing about itself", tag.Name)
		}
	}
	saysAbsent := regexp.MustCompile(`(?i)\bif absent\b|\babsent if\b`)
	for _, component := range contents.Schemas {
		for _, m := range component.Schema.Members {
			if m.Required && strings.HasSuffix(component.Name, "Create") && saysAbsent.MatchString(m.Schema.Text) {
				t.Errorf("%s.%s is required: %s", component.Name, m.Name, m.Schema.Text)
			}
		}
	}
	for _, hook := range contents.Webhooks {
		for _, p := range hook.Headers {
			if p.Required && saysAbsent.MatchString(p.Text) {
				t.Errorf("the header %s of %s is required: %s", p.Name, hook.Name, p.Text)
			}
		}
	}
}

// A webhook's request to the merchant has no credential of the API. The OpenAPI document must say so explicitly, because tools
// for OpenAPI check this.
func TestWebhooksNeedNoCredential(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hooks, _ := f.server.Document().Object().Get("webhooks").(description.Object)
	for _, hook := range hooks {
		operation, _ := hook.Value.(description.Object).Get("post").(description.Object)
		if security, isList := operation.Get("security").([]any); !isList || len(security) > 0 {
			t.Errorf("%s: security %v", hook.Name, operation.Get("security"))
		}
	}
	if len(hooks) < 20 {
		t.Errorf("%d webhooks", len(hooks))
	}
}

func TestReferenceIsSearched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, want := range map[string]string{
		"refund": "/docs/transactions#changeTransaction", "CREATE+transaction": "/docs/transactions#createTransaction",
		"qr_url": "/docs/payment-links-and-products#createLink", "card_declined": "/docs/errors#card_declined", "rate_limited": "/docs/errors#refusals",
		"x-idempotent": "<strong>x-idempotent</strong>", "overdraft_limit": "/docs/partners#createPartner", "transaction.charged": "/docs/webhooks#transaction.charged", "%3Cscript%3E": "&lt;script&gt;",
		strings.Repeat("a", 5000): "0 results", "%ff": "0 results",
	} {
		if r := f.anyone().get("/docs/search?q=" + query); r.status != 200 || !strings.Contains(r.body, want) || strings.Contains(r.body, "<script") {
			t.Errorf("%.20s: %d %s", query, r.status, r.body)
		}
	}
}

// The pages of the API's reference need no script and load no other files. They name the version and the environment.
func TestReferencePagesLoadNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/", "/docs", "/docs/transactions", "/docs/errors", "/docs/leases", "/docs/webhooks"} {
		r := f.anyone().get(path).want(200, "")
		policy := r.header.Get("content-security-policy")
		if !strings.HasPrefix(policy, "default-src 'none'; base-uri 'none'; style-src 'sha256-") || strings.Contains(policy,
			"unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for _, forbidden := range []string{"<script", " style=", " src=", "http://", "onclick"} {
			if strings.Contains(strings.ReplaceAll(r.body, "http://www.w3.org", ""), forbidden) && !(forbidden == "http://" && path != "/") {
				t.Errorf("%s has %s", path, forbidden)
			}
		}
	}
	start := f.anyone().get("/").want(200, "")
	for _, want := range []string{"v0.0.0-test", "sandbox: no money moves here", `href="/docs"`, "The pages for merchants"} {
		if !strings.Contains(start.body, want) {
			t.Errorf("the start page has no %q", want)
		}
	}
	if missing := f.anyone().get("/docs/nothing").want(404, ""); !strings.Contains(missing.body,
		"no such page") || missing.header.Get("cache-control") != "no-store" {
		t.Errorf("a page that is none: %s", missing.body)
	}
}

// Creating the API's description panics if a route is not described.
func TestDescriptionRefusesAnUndescribedRoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contents := operations.Contents()
	contents.Operations = contents.Operations[1:]
	defer func() {
		if recover() == nil {
			t.Error("POST /api/v1/transactions is not described, and nobody notices")
		}
	}()
	description.New(contents, "v", f.server.AllRoutes())
}

// Every field needs an explanation for readers.
func TestEveryMemberOfADescribedObjectHasAText(t *testing.T) {
	t.Parallel()
	for _, component := range operations.Contents().Schemas {
		for _, m := range component.Schema.Members {
			if m.Schema.Text == "" && m.Schema.Ref == "" {
				t.Errorf("%s.%s has no text", component.Name, m.Name)
			}
		}
	}
}
