package resource

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/console/visit"
	"mizan/api/description/operations"
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// people has one organization, and no users.
type people struct{}

func (people) Organization(id ledger.ID) (*directory.Organization, bool) {
	return &directory.Organization{ID: id, Name: "Bank"}, true
}
func (people) AdminToken([]byte) bool                            { return false }
func (people) User(ledger.ID, ledger.ID) (*directory.User, bool) { return nil, false }

// site has the pages of an area, with a fake API whose responses the test sets.
type site struct {
	t       *testing.T
	app     *fiber.App
	answers map[string]string // the key is method and path; the value is the body, or a status and the body
	calls   []string          // each has the method, the path with the query, and the body

	caller        directory.Roles    // roles of the person; nil: an administrator
	partner       *directory.Partner // as which the person acts; nil: none
	ledgerReaders []ledger.ID        // organizations whose ledger readers have opened a page
}

// newSite serves the pages of some kinds of a description to an administrator. Administrators may call all operations of the
// description, except the closed ones.
func newSite(t *testing.T, contents spec.Contents, kinds []Kind, answers map[string]string, closed ...string) *site {
	t.Helper()
	s := &site{t: t, app: fiber.New(), answers: answers}
	var routes []web.Route
	for _, o := range contents.Operations {
		if !slices.Contains(closed, o.ID) {
			routes = append(routes, web.Route{Method: o.Method, Path: o.RouteOf(), Access: web.Access{Callers: web.AdminToken}, Console: web.ByAdmin("reserved")})
		}
	}
	console := visit.New(visit.Config{Internal: &web.Internal{Handle: s.api}, Proxies: &web.Proxies{}, People: people{}, Errors: web.Errors{}, LedgerReaderIsHere: func(org ledger.ID) { s.ledgerReaders = append(s.ledgerReaders, org) }})
	pages := New(Area{Root: "/console/admin/", Roles: []directory.Role{directory.Admin}, Catalog: apispec.New(contents), Kinds: kinds, Routes: func() []web.Route { return routes }})
	for _, route := range console.Routes(pages.Pages()...) {
		s.app.Add(route.Method, route.Path, func(c *fiber.Ctx) error {
			req := web.NewRequest(&route, c)
			req.Principal.Org, req.Principal.Session, req.Principal.Partner = ledger.ID{1}, &directory.Session{Roles: directory.Roles{directory.Admin}}, s.partner
			if s.caller != nil {
				req.Principal.Session.Roles = s.caller
			}
			return route.Handle(req)
		})
	}
	return s
}

// api answers the calls that pages make to the API.
func (s *site) api(ctx *fasthttp.RequestCtx) {
	name := string(ctx.Method()) + " " + string(ctx.Path())
	s.calls = append(s.calls, strings.TrimSpace(string(ctx.Method())+" "+string(ctx.RequestURI())+" "+string(ctx.PostBody())))
	answer, found := s.answers[name]
	if !found {
		answer = `404 {"error":"not_found","message":"nothing here"}`
	}
	status := 200
	if _, err := fmt.Sscanf(answer, "%d ", &status); err == nil {
		_, answer, _ = strings.Cut(answer, " ")
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBodyString(answer)
}

// get requests a page and returns its HTML. The test fails unless the response has the status.
func (s *site) get(path string, status int) string {
	s.t.Helper()
	return s.send(httptest.NewRequest(http.MethodGet, path, nil), status)
}

func (s *site) send(req *http.Request, status int) string {
	s.t.Helper()
	req.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: "a.token"})
	response, err := s.app.Test(req, -1)
	if err != nil {
		s.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != status {
		s.t.Errorf("%s %s: %d, want %d: %s", req.Method, req.URL, response.StatusCode, status, mainOf(string(body)))
	}
	if status == http.StatusSeeOther {
		return response.Header.Get("Location")
	}
	return mainOf(string(body))
}

// mainOf returns the content of the page's main element.
func mainOf(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	page, _, _ = strings.Cut(page, "</main>")
	return page
}

var token = regexp.MustCompile(`name="csrf" value="([^"]*)"`)

// post opens the page of a form and posts the form with the fields.
func (s *site) post(path, fields string, status int) string {
	s.t.Helper()
	form, err := url.ParseQuery(fields)
	if err != nil {
		s.t.Fatal(err)
	}
	found := token.FindStringSubmatch(s.get(path, http.StatusOK))
	if found == nil {
		s.t.Fatalf("%s has no form", path)
	}
	form.Set("csrf", found[1])
	s.calls = nil
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(req, status)
}

// lastCall returns the last call that a page has made.
func (s *site) lastCall() string {
	if len(s.calls) == 0 {
		return ""
	}
	return s.calls[len(s.calls)-1]
}

func wantParts(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("%q is not in %s", part, page)
		}
	}
}

// withColumn adds a column to a record of the description.
func withColumn(contents spec.Contents, record string, column spec.Member) spec.Contents {
	contents.Schemas = slices.Clone(contents.Schemas)
	for i := range contents.Schemas {
		if name := contents.Schemas[i].Name; name == record || name == record+"Create" || name == record+"Patch" {
			changed := *contents.Schemas[i].Schema
			changed.Members = append(slices.Clone(changed.Members), column)
			contents.Schemas[i].Schema = &changed
		}
	}
	return contents
}

const partnerJSON = `{"id":7,"name":"Tea Shop","login":"tea","email":null,"active":true,"created_at":"2026-11-29T01:44:01.553220+00:00","tea_limit":"1250","currency":"USD",
	"overdraft_limit":[{"currency":"USD","network":"","env":"prod","amount":"5000"}],"branding":{"color":"#112233"},"secret":"•••","source_addresses":[]}`

var partnersOnly = []Kind{{Name: "partners", List: "listPartners", Columns: []string{"id", "name"}}}

func TestNewColumnIsInListPageAndForms(t *testing.T) {
	contents := withColumn(operations.Contents(), "Partner", spec.Optional("tea_limit", spec.Nullable(spec.Amount()), "how much tea"))
	contents = withColumn(contents, "Partner", spec.Optional("currency", spec.Nullable(spec.Words("USD")), "of the tea"))
	s := newSite(t, contents, partnersOnly, map[string]string{
		"GET /api/v1/partners": `{"data":[` + partnerJSON + `],"cursor":{"cursor_field":"created_at","cursor_value":"next-page"}}`, "GET /api/v1/partners/7": `{"data":` + partnerJSON + `}`,
		"PATCH /api/v1/partners/7": `{"data":` + partnerJSON + `}`, "POST /api/v1/partners": `201 {"data":` + partnerJSON + `}`,
	})
	wantParts(t, s.get("/console/admin/partners", 200), "Tea limit", "$12.50", `href="/console/admin/partners/7"`, `cursor=next-page`)
	wantParts(t, s.get("/console/admin/partners/7", 200), "Tea limit", "$12.50", "$50.00", "#112233", "Set, not shown")
	wantParts(t, s.get("/console/admin/partners/new", 200), "Tea limit", `name="tea_limit"`, "How much tea.")
	wantParts(t, s.get("/console/admin/partners/7/edit", 200), `name="tea_limit" value="12.50"`)
	if to := s.post("/console/admin/partners/7/edit", "tea_limit=13", 303); to != "/console/admin/partners/7?done" {
		t.Error(to)
	}
	if call, want := s.lastCall(), `PATCH /api/v1/partners/7 {"tea_limit":"1300"}`; call != want {
		t.Errorf("%s, want %s", call, want)
	}
	s.post("/console/admin/partners/new", "name=Tea&tea_limit=1.5&currency=USD", 303)
	if call, want := s.lastCall(), `POST /api/v1/partners {"currency":"USD","name":"Tea","tea_limit":"150"}`; call != want {
		t.Errorf("%s, want %s", call, want)
	}
}

func TestNewRecordNeedsNoPageOfItsOwn(t *testing.T) {
	contents := operations.Contents()
	tea := spec.Object(spec.Required("id", spec.UUID(), "id"), spec.Required("name", spec.Text(), "its name"), spec.Required("partner_id", spec.Integer(1), "whose it is"))
	contents.Schemas = append(slices.Clone(contents.Schemas), spec.Component{Name: "Tea", Schema: tea})
	id, shown := spec.InPath("id", spec.UUID(), "id"), []spec.Answer{{Status: 200, Schema: spec.Data(spec.Ref("Tea"))}}
	body := spec.JSON(spec.OpenObject(spec.Required("name", spec.Text(), "its name"), spec.Required("partner_id", spec.Integer(1), "whose it is")))
	contents.Operations = append(slices.Clone(contents.Operations),
		spec.Operation{ID: "listTeas", Method: "GET", Path: "/api/v1/teas", Parameters: []spec.Parameter{spec.InQuery("partner_id", spec.Integer(1), "whose")}, Answers: []spec.Answer{{Status: 200, Schema: spec.Page(spec.Ref("Tea"), "id")}}},
		spec.Operation{ID: "getTea", Method: "GET", Path: "/api/v1/teas/{id}", Parameters: []spec.Parameter{id}, Answers: shown},
		spec.Operation{ID: "createTea", Method: "POST", Path: "/api/v1/teas", Body: body, Answers: shown},
		spec.Operation{ID: "brewTea", Method: "POST", Path: "/api/v1/teas/{id}/brew", Parameters: []spec.Parameter{id}, Body: spec.OptionalJSON(spec.OpenObject()), Answers: shown},
		spec.Operation{ID: "deleteTea", Method: "DELETE", Path: "/api/v1/teas/{id}", Parameters: []spec.Parameter{id}, Answers: shown})
	const green = `{"id":"0d1f2a3b-0000-4000-8000-000000000001","name":"Green","partner_id":7}`
	one := "/api/v1/teas/0d1f2a3b-0000-4000-8000-000000000001"
	s := newSite(t, contents, append([]Kind{{Name: "teas", List: "listTeas"}}, partnersOnly...), map[string]string{
		"GET /api/v1/teas": `{"data":[` + green + `],"cursor":{"cursor_value":null}}`, "GET " + one: `{"data":` + green + `}`, "POST /api/v1/teas": `201 {"data":` + green + `}`,
		"POST " + one + "/brew": `{"data":` + green + `}`, "DELETE " + one: `{"data":` + green + `}`, "GET /api/v1/partners/7": `{"data":` + partnerJSON + `}`,
	})
	wantParts(t, s.get("/console/admin/teas", 200), `href="/console/admin/teas/0d1f2a3b-0000-4000-8000-000000000001"`, "Green", `href="/console/admin/partners/7"`, `name="partner_id"`)
	wantParts(t, s.get("/console/admin/teas/0d1f2a3b-0000-4000-8000-000000000001", 200), "Green", "/brew", "/delete")
	wantParts(t, s.get("/console/admin/partners/7", 200), "Teas", "Green", `href="/console/admin/teas?partner_id=7"`, `href="/console/admin/teas/new?partner_id=7"`)
	wantParts(t, s.get("/console/admin/teas/new?partner_id=7", 200), `name="partner_id" value="7"`)
	for _, c := range []struct{ page, call string }{{"brew", "POST " + one + "/brew {}"}, {"delete", "DELETE " + one}} {
		s.post("/console/admin/teas/0d1f2a3b-0000-4000-8000-000000000001/"+c.page, "", 303)
		if s.lastCall() != c.call {
			t.Errorf("%s, want %s", s.lastCall(), c.call)
		}
	}
}

func TestListAsksTheAPIWithItsOwnNames(t *testing.T) {
	s := newSite(t, operations.Contents(), []Kind{{Name: "deliveries", List: "listDeliveries"}}, map[string]string{"GET /api/v1/deliveries": `{"data":[],"cursor":{"cursor_value":null}}`})
	wantParts(t, s.get("/console/admin/deliveries?state=parked&from=2026-01-02T03:04&limit=5&transaction_id=&done=1", 200), `<option value="parked" selected>Parked</option>`, "Nothing matches these filters.")
	if call, want := s.lastCall(), "GET /api/v1/deliveries?from=2026-01-02T03%3A04%3A00Z&limit=5&state=parked"; call != want {
		t.Errorf("%s, want %s", call, want)
	}
	s.calls = nil
	wantParts(t, s.get("/console/admin/deliveries?from=yesterday", 422), "Enter a date and a time.", `value="yesterday"`)
	if len(s.calls) != 0 {
		t.Errorf("a wrong filter was sent: %s", s.calls)
	}
	wantParts(t, s.get("/console/admin/deliveries", 200), "There is nothing here yet.")
}

func TestRefusalsOfTheAPIAreShown(t *testing.T) {
	answers := map[string]string{
		"GET /api/v1/partners":     `422 {"errors":[{"code":"invalid","detail":"Unexpected field","field":"colour"},{"code":"invalid","detail":"cursor is malformed","field":"cursor"}]}`,
		"GET /api/v1/partners/7":   `{"data":` + partnerJSON + `}`,
		"GET /api/v1/partners/8":   `503 {"error":"unavailable","message":"too much"}`,
		"POST /api/v1/partners":    `422 {"errors":[{"code":"invalid","detail":"must be of the form #rrggbb","field":"branding.color"}]}`,
		"PATCH /api/v1/partners/7": `409 {"error":"conflict","message":"login is taken"}`,
	}
	s := newSite(t, operations.Contents(), partnersOnly, answers)
	wantParts(t, s.get("/console/admin/partners?colour=red", 422), "colour: Unexpected field")
	s.get("/console/admin/partners/9", 404)
	s.get("/console/admin/partners/8", 503)
	s.get("/console/admin/partners/..", 404)
	page := s.post("/console/admin/partners/new", "name=Tea&pass=secret-1&branding.color=red", 422)
	wantParts(t, page, "must be of the form #rrggbb", `name="branding.color" value="red"`, `aria-invalid="true"`, `name="name" value="Tea"`)
	if strings.Contains(page, "secret-1") {
		t.Error("the page shows a password")
	}
	wantParts(t, s.post("/console/admin/partners/7/edit", "name=Other", 409), "login is taken", `value="Other"`)
	page = s.post("/console/admin/partners/new", "overdraft_limit.0.currency=USD&overdraft_limit.0.amount=5&_add=overdraft_limit", 200)
	wantParts(t, page, `name="overdraft_limit.0.amount" value="5"`, `name="overdraft_limit.2.amount" value=""`)
	if len(s.calls) != 0 {
		t.Errorf("the button for another row has sent %s", s.calls)
	}
}

func TestWhatAPersonMayNotDoHasNoButton(t *testing.T) {
	contents := withColumn(operations.Contents(), "Partner", spec.Optional("reserved", spec.Nullable(spec.Text()), "for the operator"))
	answers := map[string]string{"GET /api/v1/partners/7": `{"data":` + partnerJSON + `}`}
	s := newSite(t, contents, partnersOnly, answers, "deletePartner", "settlePartner", "listPartnerSettlements")
	page := s.get("/console/admin/partners/7", 200)
	wantParts(t, page, "/edit")
	for _, part := range []string{"/delete", "/settlements"} {
		if strings.Contains(page, part) {
			t.Errorf("there is a link to %s", part)
		}
	}
	if strings.Contains(s.get("/console/admin/partners/7/edit", 200), `name="reserved"`) {
		t.Error("the form has a field that the person may not send")
	}
}

func TestValueThatIsShownOnceIsInNoAddress(t *testing.T) {
	kinds := []Kind{{Name: "keys", List: "listApiKeys", ShownOnce: []string{"key"}}}
	s := newSite(t, operations.Contents(), kinds, map[string]string{
		"POST /api/v1/api_keys": `201 {"id":"0d1f2a3b-0000-4000-8000-000000000001","key":"mzk_abc","data":{"id":"0d1f2a3b-0000-4000-8000-000000000001","key":"mzk_abc","prefix":"mzk_a","name":"shop"}}`,
		"GET /api/v1/api_keys":  `{"data":[{"id":"0d1f2a3b-0000-4000-8000-000000000001","prefix":"mzk_a","name":"shop","partner_id":1}],"cursor":{"cursor_value":null}}`,
	})
	wantParts(t, s.post("/console/admin/keys/new", "partner_id=1&name=shop", 201), "mzk_abc", "never shown again")
	if strings.Contains(s.get("/console/admin/keys", 200), "mzk_abc") {
		t.Error("the list shows the key")
	}
}

func TestTitleOfARecordWithoutANameBeginsWithACapitalLetter(t *testing.T) {
	for lang, want := range map[string]string{"en": "Delivery d5e8d704", "ru": "Доставка уведомления d5e8d704", "ar": "عملية تسليم d5e8d704"} {
		k := &kind{Kind: Kind{Name: "deliveries"}, Record: &apispec.Record{Key: "event_id"}}
		if got := k.title(labels.In(lang), map[string]any{"event_id": "d5e8d704-0000-4000-8000-000000000001"}); got != want {
			t.Errorf("%s: the title is %q, want %q", lang, got, want)
		}
		if got := k.title(labels.In(lang), map[string]any{"event_id": "d5e8d704", "name": "eBay"}); got != "eBay" {
			t.Errorf("%s: the name eBay became %q", lang, got)
		}
	}
	if got := capitalized(""); got != "" {
		t.Errorf("no text became %q", got)
	}
}

// Only a person who reads a whole organization's ledger makes the server prepare the ledger's sums.
func TestLedgerReadersAreAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		roles   directory.Roles
		partner *directory.Partner
		want    int
	}{
		"administrator":                       {roles: directory.Roles{directory.Admin}, want: 1},
		"auditor":                             {roles: directory.Roles{directory.Auditor}, want: 1},
		"partner":                             {roles: directory.Roles{directory.PartnerRole}, partner: new(directory.Partner)},
		"administrator who acts as a partner": {roles: directory.Roles{directory.Admin}, partner: new(directory.Partner)},
	} {
		s := newSite(t, operations.Contents(), partnersOnly, map[string]string{"GET /api/v1/partners/7": `{"data":` + partnerJSON + `}`})
		s.caller, s.partner = c.roles, c.partner
		s.get("/console/admin/partners/7", 200)
		if len(s.ledgerReaders) != c.want {
			t.Errorf("%s: announced %d times, want %d", name, len(s.ledgerReaders), c.want)
		}
	}
}
