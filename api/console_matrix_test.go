package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mizan/actors/directory/logins"
	"mizan/api"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// consoleRow is the expected behavior of a route of the console.
type consoleRow struct {
	roles  []directory.Role // roles that may open the route; nil: everybody, even without a session
	status int              // the response's status for these roles, for a record that they may see
	form   string           // the form of a POST, without its CSRF token
	query  string           // the query of a GET, with its question mark
	target *target          // the kind of record whose id is the parameter in the route's path

	unknown     int  // the status for a foreign or unknown record; 0: 404
	needsToken  bool // without an administration token in the session, the response redirects to the page that asks for the token
	tokenOnly   bool // without an administration token in the session, the status is 403
	endsSession bool // a request ends its session, so each request needs a new one
}

var everyone = directory.AllRoles

// only makes a list of its arguments, for rows such as "roles: only(directory.Admin)".
func only(roles ...directory.Role) []directory.Role { return roles }

// consoleMatrix has a row for each route of the console. A route without a row fails the test.
var consoleMatrix = map[api.RouteName]consoleRow{
	{Method: "GET", Path: "/console"}:              {status: 303},
	{Method: "GET", Path: "/console/assets/:name"}: {status: 404, target: noAsset},
	{Method: "GET", Path: "/console/login"}:        {status: 200},
	{Method: "POST", Path: "/console/login"}:       {status: 401},

	{Method: "GET", Path: "/console/"}:        {roles: everyone, status: 200},
	{Method: "GET", Path: "/console/*"}:       {roles: everyone, status: 404},
	{Method: "POST", Path: "/console/logout"}: {roles: everyone, status: 303, endsSession: true},

	{Method: "GET", Path: "/console/settings"}:           {roles: everyone, status: 200},
	{Method: "POST", Path: "/console/settings/language"}: {roles: everyone, status: 303, form: "lang=en"},
	{Method: "POST", Path: "/console/settings/password"}: {roles: everyone, status: 422},
	{Method: "POST", Path: "/console/settings/sessions"}: {roles: everyone, status: 303, endsSession: true},

	{Method: "GET", Path: "/console/admin/token"}:  {roles: everyone, status: 200},
	{Method: "POST", Path: "/console/admin/token"}: {roles: everyone, status: 403},
	{Method: "GET", Path: "/console/admin/logins"}: {roles: only(directory.Admin), status: 200},

	{Method: "GET", Path: "/console/ledger/trial-balance"}:                {roles: web.LedgerRoles, status: 200},
	{Method: "GET", Path: "/console/ledger/accounts"}:                     {roles: web.LedgerRoles, status: 200},
	{Method: "GET", Path: "/console/ledger/accounts/:path"}:               {roles: web.LedgerRoles, status: 200, target: anAccount, query: "?env=test&currency=USD"},
	{Method: "GET", Path: "/console/ledger/accounts/:path/statement.csv"}: {roles: web.LedgerRoles, status: 200, target: anAccount, query: "?env=test&currency=USD"},
	{Method: "GET", Path: "/console/ledger/entries"}:                      {roles: web.LedgerRoles, status: 200},
	{Method: "GET", Path: "/console/ledger/entries/:seq"}:                 {roles: web.LedgerRoles, status: 200, target: anEntry},
	{Method: "GET", Path: "/console/ledger/events"}:                       {roles: web.LedgerRoles, status: 200},
	{Method: "GET", Path: "/console/ledger/events/:seq"}:                  {roles: web.LedgerRoles, status: 200, target: anEntry},
	{Method: "GET", Path: "/console/ledger/periods"}:                      {roles: web.LedgerRoles, status: 200},
	{Method: "GET", Path: "/console/ledger/periods/:month/close"}:         {roles: only(directory.Admin), status: 200, target: anOpenMonth},
	{Method: "POST", Path: "/console/ledger/periods/:month/close"}:        {roles: only(directory.Admin), status: 409, target: anOpenMonth},
	{Method: "GET", Path: "/console/ledger/exports"}:                      {roles: web.LedgerRoles, status: 200},
	{Method: "GET", Path: "/console/ledger/exports/download"}:             {roles: web.LedgerRoles, status: 200, query: "?format=csv"},
	{Method: "GET", Path: "/console/ledger/proof"}:                        {roles: web.LedgerRoles, status: 200},
}

// anOpenMonth is a month that has not ended. A URL with a text in its place that is not a month gets 404.
var anOpenMonth = &target{name: "open month", unknownID: "no-month", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return "2027-01" }}

// noAsset is a file that the console does not have.
var noAsset = &target{name: "file", unknownID: "nothing.css", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return "nothing.js" }}

func TestEveryConsoleRouteHasARow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := f.server.ConsoleRoutes()
	for _, r := range table {
		expected, found := consoleMatrix[r]
		if !found {
			t.Errorf("%s %s has no row in the console's matrix: say which roles open it, and which response they get", r.Method, r.Path)
		} else if strings.Contains(r.Path, ":") != (expected.target != nil) {
			t.Errorf("%s %s: its row does not say what its parameter names", r.Method, r.Path)
		}
	}
	for r := range consoleMatrix {
		if !slices.Contains(table, r) {
			t.Errorf("%s %s has a row but is no route", r.Method, r.Path)
		}
	}
}

// visitor is a person's browser with a session of the console, and the CSRF token of the session's forms.
type visitor struct {
	caller
	csrf string
}

// signIn logs in to the console as the user that the fixture has created with the role in the owner's organization.
func (f *accessFixture) signIn(owner *recordOwner, role directory.Role) visitor {
	f.t.Helper()
	form := url.Values{"organization": {owner.org.String()}, "login": {"user-" + string(role)}, "pass": {"correct-horse-battery-9"}}
	r := f.anyone().with("content-type", "application/x-www-form-urlencoded").post("/console/login", form.Encode()).want(303, "")
	cookie, _, _ := strings.Cut(r.header.Get("set-cookie"), ";")
	v := visitor{caller: f.anyone().with("cookie", cookie, "accept-language", "en")}
	_, fields := v.get("/console/").want(200, "").form()
	v.csrf = fields.Get("csrf")
	return v
}

// open requests a route of the console. The id replaces the parameters in the route's path.
func (v visitor) open(name api.RouteName, row *consoleRow, id string) *response {
	v.fixture.t.Helper()
	path := strings.ReplaceAll(withParameter(name.Path, id), "*", "nowhere")
	if name.Method == "GET" {
		return v.get(path + row.query)
	}
	return v.with("content-type", "application/x-www-form-urlencoded").do(name.Method, path, "csrf="+v.csrf+"&"+row.form)
}

// A credential of the API opens no page of the console, in whatever header or cookie it is sent. A session of another
// organization does not open one either.
func TestNoOtherCredentialOpensTheConsole(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	foreign := f.signIn(f.second, directory.Admin)
	_, foreignToken, _ := strings.Cut(foreign.headers["cookie"], ".")
	callers := map[string]caller{"a session of another organization": f.anyone().with("cookie", "mizan_session="+f.first.org.String()+"."+foreignToken)}
	for _, k := range kinds {
		callers[string(k)] = f.callerOf(k)
	}
	for k, token := range f.sessions {
		callers["in the cookie, "+string(k)] = f.anyone().with("cookie", "mizan_session="+f.first.org.String()+"."+token)
	}
	for name, secret := range map[string]string{"key": f.first.key, "administration token": string(f.seed.AdminToken)} {
		callers["in the cookie, the "+name] = f.anyone().with("cookie", "mizan_session="+f.first.org.String()+"."+secret)
	}
	before := f.storedCounts()
	for _, name := range f.server.ConsoleRoutes() {
		row := consoleMatrix[name]
		if row.roles == nil {
			continue
		}
		for who, c := range callers {
			r := visitor{caller: c}.open(name, &row, "1")
			if location := r.header.Get("location"); r.status != 303 || !strings.HasPrefix(location, "/console/login") {
				t.Errorf("%s %s as %s: %d to %q", name.Method, name.Path, who, r.status, location)
			}
		}
	}
	if after := f.storedCounts(); after != before {
		t.Errorf("something was stored: %+v, before %+v", after, before)
	}
}

// The console lets persons call some routes of the API that do not admit their sessions directly. consoleAccess lists all these
// routes, each with the roles that the console admits to it.
func TestConsoleAccessIsDeclared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var got []string
	for _, r := range f.server.AllRoutes() {
		if len(r.Console.Roles) > 0 || r.Console.Own {
			roles := directory.Roles(r.Console.Roles).Strings()
			if r.Console.Own {
				roles = append(roles, fmt.Sprint("own", r.Console.OwnMembers))
			}
			got = append(got, fmt.Sprint(r.Method, " ", strings.TrimPrefix(r.Path, "/api/v1"), " ", strings.Join(roles, ","), " ", strings.Join(r.Console.Reserved, ",")))
		}
	}
	slices.Sort(got)
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if strings.Join(got, "\n") != strings.TrimSpace(consoleAccess) {
		t.Errorf("the console's access is\n%s\nwant\n%s", strings.Join(got, "\n"), consoleAccess)
	}
}

// consoleAccess lists the routes that persons may call through the console only, each with their roles. After "own", brackets
// enclose the members of the body that a partner may send. The last word lists the members that only the administration token may
// send.
const consoleAccess = `
DELETE /api_keys/:id admin,own[]
DELETE /blocklist/:id admin
DELETE /limits/:id admin
DELETE /links/:id admin,partner
DELETE /partners/:id admin
DELETE /products/:id admin,partner
DELETE /terminal/:id admin
DELETE /users/:id admin
GET /api_keys admin,own[]
GET /api_keys/:id admin,own[]
GET /blocklist admin
GET /blocklist/:id admin
GET /circuits admin
GET /deliveries admin,own[]
GET /deliveries/:id admin,own[]
GET /limits admin
GET /limits/:id admin
GET /limits/:id/usage admin
GET /links admin
GET /links/:id admin
GET /logins admin
GET /partners admin
GET /partners/:id admin,own[]
GET /products admin
GET /products/:id admin
GET /rates admin
GET /rates/:id admin
GET /search admin
GET /terminal/:id admin,own[]
GET /terminals admin,own[]
GET /transactions admin
GET /transactions/:id/routing admin,own[]
GET /users admin
GET /users/:id admin
PATCH /limits/:id admin
PATCH /links/:id admin,partner
PATCH /partners/:id admin,own[notify_url secret branding lang] overdraft_limit
PATCH /products/:id admin,partner
PATCH /terminal/:id admin,own[merchant_params]
PATCH /users/:id admin
POST /api_keys admin,own[name partner_id expires_at]
POST /blocklist admin
POST /deliveries/:id/replay admin,own[]
POST /deliveries/replay admin,own[terminal_id from to]
POST /images admin,partner
POST /limits admin
POST /links admin,partner
POST /partners admin overdraft_limit
POST /products admin,partner
POST /reconciliation/days/:id/:date/close admin
POST /reconciliation/differences/:id/settle admin
POST /reconciliation/reports admin
POST /subscriptions/:id/cancel partner
POST /subscriptions/:id/pause partner
POST /subscriptions/:id/resume partner
POST /terminal admin
POST /terminal/:id/test-delivery admin,own[]
POST /transactions/commit/:id partner
POST /users admin
PUT /rates admin
PUT /transactions/:id partner
`

// internalCaller makes requests to the API as the console does: inside the process, for the person whom grant describes.
type internalCaller struct {
	f     *accessFixture
	grant web.Grant
}

// as returns an internalCaller for a person with the role in the owner's organization. A person with the role partner acts for the
// owner's partner.
func (f *accessFixture) as(owner *recordOwner, role directory.Role) internalCaller {
	g := web.Grant{Org: owner.org, Session: &directory.Session{Org: owner.org, AuthorSeq: 1, Roles: directory.Roles{role}}}
	if role == directory.PartnerRole {
		number, err := strconv.ParseInt(owner.partner, 10, 64)
		must(f.t, err)
		partner, found := f.directory.Partner(owner.org, number)
		if !found {
			f.t.Fatal("no partner", number)
		}
		g.Partner, g.Session.Partner, g.Session.AuthorSeq = partner, number, partner.FirstSeq
	}
	return internalCaller{f, g}
}

func (a internalCaller) do(method, path, body string) *response {
	a.f.t.Helper()
	path, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	must(a.f.t, err)
	call := web.InternalRequest{Method: method, Path: "/api/v1" + path, Query: values}
	if body != "" {
		call.Body = []byte(body)
	}
	answer := a.f.server.Ask(&a.grant, &call)
	return &response{t: a.f.t, status: answer.Status, body: string(answer.Body)}
}

// Through the console, a session of role partner may call routes of the administration only for its own partner's records, and
// may set only the members that a partner may change.
func TestPartnerReachesOnlyItsOwnRecordsThroughTheConsole(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	own := f.as(f.first, directory.PartnerRole)
	for _, x := range []struct {
		method, path, body string
		target             *target
		status             int // the expected status for a record of the partner's own
	}{
		{"GET", "/partners/:id", "", aPartner, 200}, {"PATCH", "/partners/:id", `{"notify_url":null}`, aPartner, 200},
		{"GET", "/terminal/:id", "", aTerminal, 200}, {"PATCH", "/terminal/:id", `{"merchant_params":{}}`, aTerminal, 200},
		{"POST", "/terminal/:id/test-delivery", "", aTerminal, 422}, {"DELETE", "/api_keys/:id", "", aKey, 200},
		{"GET", "/deliveries/:id", "", aDelivery, 200}, {"POST", "/deliveries/:id/replay", "", aDelivery, 200},
	} {
		do := func(id string) *response { return own.do(x.method, strings.Replace(x.path, ":id", id, 1), x.body) }
		unknown := do(x.target.unknownID)
		for _, other := range []*recordOwner{f.neighbour, f.second} {
			if got := do(f.id(x.target, other)); got.status != 404 || got.body != unknown.body {
				t.Errorf("%s %s of partner %s: %d %s, an unknown one: %s", x.method, x.path, other.partner, got.status, got.body, unknown.body)
			}
		}
		if got := do(f.id(x.target, f.first)); got.status != x.status {
			t.Errorf("%s %s: %d %s, want %d", x.method, x.path, got.status, got.body, x.status)
		}
	}
	for _, path := range []string{"/api_keys", "/terminals"} {
		rows := own.do("GET", path+"?partner_id="+f.neighbour.partner, "").want(200, "").object()["data"].([]any)
		for _, row := range rows {
			if got := fmt.Sprint(row.(map[string]any)["partner_id"]); got != f.first.partner {
				t.Errorf("%s shows a record of partner %s", path, got)
			}
		}
		if len(rows) == 0 {
			t.Errorf("%s shows nothing", path)
		}
	}
	own.do("POST", "/api_keys", `{"name":"mine","partner_id":`+f.first.partner+`}`).want(201, "")
	for _, body := range []string{`{"name":"n","partner_id":` + f.neighbour.partner + `}`, `{"params":{"name":"n","partner_id":` + f.neighbour.partner + `}}`} {
		if got := own.do("POST", "/api_keys", body); got.status != 422 || !strings.Contains(got.body, `"field":"partner_id"`) {
			t.Errorf("a key for another partner: %d %s", got.status, got.body)
		}
	}
	own.do("GET", "/deliveries?terminal_id="+f.id(aTerminal, f.first), "").want(200, "")
	own.do("GET", "/deliveries?transaction_id="+f.id(aTransaction, f.first), "").want(200, "")
	for _, query := range []string{"", "?terminal_id=" + f.id(aTerminal, f.neighbour), "?transaction_id=" + f.id(aTransaction, f.neighbour),
		"?transaction_id=" + f.id(aTransaction, f.first) + "&terminal_id=" + f.id(aTerminal, f.neighbour)} {
		own.do("GET", "/deliveries"+query, "").want(422, "")
	}
	own.do("POST", "/deliveries/replay", `{"terminal_id":"`+f.id(aTerminal, f.neighbour)+`"}`).want(404, "")
	for _, member := range []string{`"active":false`, `"overdraft_limit":[]`, `"email":"a@b.example"`, `"source_addresses":[]`, `"name":"x"`, `"pass":"x"`} {
		name, _, _ := strings.Cut(strings.Trim(member, `"`), `"`)
		for _, body := range []string{`{` + member + `}`, `{"params":{` + member + `}}`} {
			if got := own.do("PATCH", "/partners/"+f.first.partner, body); got.status != 422 || !strings.Contains(got.body, `"field":"`+name+`"`) {
				t.Errorf("%s: %d %s", body, got.status, got.body)
			}
		}
	}
	for _, path := range []string{"/partners", "/users", "/limits", "/blocklist", "/rates", "/organizations", "/logins", "/backups", "/sandbox/clock"} {
		own.do("GET", path, "").want(map[bool]int{true: 405, false: 403}[path == "/backups"], "")
	}
}

// Through the console, administrators manage only their own organization, and can't set the fields that require the
// administration token.
func TestAdministratorRulesItsOwnOrganizationOnly(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	admin := f.as(f.first, directory.Admin)
	for path, x := range map[string]*target{
		"/partners/": aPartner, "/terminal/": aTerminal, "/users/": aUser, "/limits/": aLimit, "/blocklist/": aBlock, "/deliveries/": aDelivery, "/links/": aLink, "/products/": aProduct,
	} {
		admin.do("GET", path+f.id(x, f.first), "").want(200, "")
		admin.do("GET", path+f.id(x, f.neighbour), "").want(200, "")
		unknown := admin.do("GET", path+x.unknownID, "").want(404, "")
		admin.do("GET", path+f.id(x, f.second), "").want(404, unknown.body)
	}
	for name, c := range map[string]struct{ method, path, body string }{
		"overdraft of a new partner": {"POST", "/partners", `{"name":"N","login":"n","overdraft_limit":[]}`},
		"overdraft, wrapped":         {"POST", "/partners", `{"params":{"name":"N","login":"n","overdraft_limit":null}}`},
		"overdraft":                  {"PATCH", "/partners/" + f.first.partner, `{"overdraft_limit":null}`},
	} {
		if got := admin.do(c.method, c.path, c.body); got.status != 422 || !strings.Contains(got.body, `"field":"overdraft_limit"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/organizations", ""}, {"GET", "/organizations/" + f.first.org.String(), ""}, {"PATCH", "/organizations/" + f.first.org.String(), "{}"}, {"POST", "/organizations", "{}"},
		{"POST", "/partners/" + f.first.partner + "/settlements", "{}"}, {"GET", "/partners/" + f.first.partner + "/settlements", ""},
		{"POST", "/terminal/" + f.id(aTerminal, f.first) + "/settlements", "{}"}, {"GET", "/settlements/" + f.id(aSettlement, f.first), ""},
		{"POST", "/backups", "{}"}, {"PUT", "/sandbox/clock", "{}"}, {"POST", "/admin_tokens/rotate", ""}, {"GET", "/notifications/stream", ""},
	} {
		admin.do(c.method, c.path, c.body).want(403, "")
	}
	for _, role := range []directory.Role{directory.Auditor, directory.Client} {
		for _, path := range []string{"/partners", "/users", "/api_keys", "/limits", "/logins", "/deliveries"} {
			f.as(f.first, role).do("GET", path, "").want(403, "")
		}
	}
	operator := f.as(f.first, directory.Admin)
	operator.grant.Operator = true
	operator.do("GET", "/organizations", "").want(200, "")
	operator.do("PATCH", "/partners/"+f.first.partner, `{"overdraft_limit":[]}`).want(200, "")
	nobody := internalCaller{f, web.Grant{Org: f.first.org}}
	nobody.do("GET", "/partners", "").want(401, "")
	nobody.do("GET", "/health", "").want(200, "")
}

// If the handler of a page fails, the response is an error page.
func TestFaultIsAPage(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	v := f.signIn(f.first, directory.Admin)
	f.stopServer()
	f.stopBackend()
	f.start(func(cfg *api.Config) { cfg.Directory = failingLogins{cfg.Directory} })
	v.caller = caller{f.fixture, v.headers}
	r := v.get("/console/admin/logins").wantPage(500, "Something went wrong on our side", "Request number")
	if !strings.Contains(r.body, r.header.Get("x-request-id")) {
		t.Errorf("the page has no request id: %s", r.body)
	}
}

// failingLogins is a directory that fails when it lists logins.
type failingLogins struct{ api.Directory }

// Logins implements api.Directory.
func (failingLogins) Logins(ledger.ID, uint64, int) ([]logins.Attempt, bool) { panic("logins") }
