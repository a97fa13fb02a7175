package api_test

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mizan/api"
	"mizan/ledger/directory"
)

// Kinds of visitors of the console, in addition to the persons in the API's matrix.
const (
	asOperator        kind = "session of role admin that has shown the administration token"
	asForeignOperator kind = "another organization's session that has shown the administration token"
	asNeighbour       kind = "session of another partner of the organization"

	withAPIKey      kind = "partner's key in the cookie"
	withAdminToken  kind = "administration token in the cookie"
	withAPISession  kind = "session of the API in the cookie"
	withMovedCookie kind = "another organization's session, whose cookie names the first organization"
	withEnded       kind = "session that was logged out"
	withExpired     kind = "session that was not used for too long"
	withBearer      kind = "session of the API as a bearer"
	withRubbish     kind = "rubbish in the cookie"
)

// Groups of visitors.
var (
	unauthorizedVisitors = []kind{nobody, withAPIKey, withAdminToken, withAPISession, withMovedCookie, withEnded, withExpired, withBearer, withRubbish}
	consolePeople        = []kind{asAdmin, asForeignAdmin, asOperator, asForeignOperator, asAuditor, asForeignAuditor, asClient, asForeignClient, asPartner, asForeignPartner, asNeighbour}
	consolePassword      = "correct-horse-battery-9"
)

// roleOf returns the role of a person.
func roleOf(k kind) directory.Role {
	switch k {
	case asAuditor, asForeignAuditor:
		return directory.Auditor
	case asClient, asForeignClient:
		return directory.Client
	case asPartner, asForeignPartner, asNeighbour:
		return directory.PartnerRole
	}
	return directory.Admin
}

// admits tells whether a route admits a visitor, and whether it redirects the visitor to the page that asks for the
// administration token.
func (r *consoleRow) admits(k kind) (admitted, asksForToken bool) {
	switch isPlain := k == asAdmin || k == asForeignAdmin; {
	case r.roles == nil:
		return true, false
	case slices.Contains(unauthorizedVisitors, k) || !slices.Contains(r.roles, roleOf(k)) || r.tokenOnly && isPlain:
		return false, false
	default:
		return true, r.needsToken && isPlain
	}
}

// init adds to consoleMatrix the pages of the records that administrators manage.
func init() {
	const root = "/console/admin/"
	add := func(method, path string, r consoleRow) {
		consoleMatrix[api.RouteName{Method: method, Path: root + path}] = r
	}
	both := func(path string, r consoleRow, status int) { // adds the page with a form, and the POST of the form
		r.status = 200
		add("GET", path, r)
		r.status = status
		add("POST", path, r)
	}
	for kind, target := range map[string]*target{
		"partners": aPartner, "terminals": aTerminal, "keys": aKey, "limits": aLimit, "blocklist": aBlock, "rates": aRate, "users": aUser,
		"organizations": anOrganization, "settlements": aSettlement, "deliveries": aDelivery,
	} {
		list := consoleRow{roles: only(directory.Admin), status: 200, needsToken: kind == "organizations" || kind == "settlements"}
		one := list
		one.target = target
		add("GET", kind, list)
		add("GET", kind+"/:id", one)
		if kind != "settlements" && kind != "deliveries" {
			both(kind+"/new", list, 422)
		}
		switch kind {
		case "partners", "terminals", "users", "limits", "organizations": // an empty form changes nothing
			both(kind+"/:id/edit", one, 303)
		}
	}
	for kind, target := range map[string]*target{
		"partners": aSparePartner, "terminals": aTerminal, "keys": aKey, "limits": aLimit, "blocklist": aBlock, "users": aUser,
	} {
		both(kind+"/:id/delete", consoleRow{roles: only(directory.Admin), target: target}, 303)
	}
	both("partners/:id/settlements", consoleRow{roles: only(directory.Admin), tokenOnly: true, target: aPartner}, 422)
	both("terminals/:id/settlements", consoleRow{roles: only(directory.Admin), tokenOnly: true, target: aTerminal}, 422)
	both("terminals/:id/test-delivery", consoleRow{roles: only(directory.Admin), target: aTerminal}, 422)
	both("deliveries/replay", consoleRow{roles: only(directory.Admin)}, 422)
	both("deliveries/:id/replay", consoleRow{roles: only(directory.Admin), target: aDelivery}, 303)
}

// ofPartner returns a copy of a target whose records only the owning partner may see.
func ofPartner(x *target) *target {
	own := *x
	own.shared = false
	return &own
}

// init adds to consoleMatrix the pages of partners.
func init() {
	const root = "/console/"
	partners, payments := consoleRow{roles: only(directory.PartnerRole), status: 200}, consoleRow{roles: only(directory.PartnerRole, directory.Admin), status: 200}
	add := func(method, path string, r consoleRow, x *target, status int) {
		r.target, r.status = x, status
		consoleMatrix[api.RouteName{Method: method, Path: root + path}] = r
	}
	both := func(path string, r consoleRow, x *target, status int) {
		add("GET", path, r, x, 200)
		add("POST", path, r, x, status)
	}
	add("GET", "payments", payments, nil, 200)
	add("GET", "payments/:id", payments, aTransaction, 200)
	both("payments/:id/refund", partners, aTransaction, 303) // an empty form requests a full refund
	for action, status := range map[string]int{"capture": 409, "cancel": 422} {
		add("GET", "payments/:id/"+action, partners, aTransaction, 409) // 409, because the payment is charged already
		add("POST", "payments/:id/"+action, partners, aTransaction, status)
	}
	add("GET", "balances", partners, nil, 200)
	statement := partners
	statement.query = "?currency=USD&env=test"
	add("GET", "balances/statement", statement, nil, 200)
	add("GET", "balances/statement.csv", statement, nil, 200)
	both("webhooks", partners, nil, 303)
	add("POST", "webhooks/secret", partners, nil, 201)
	both("settings/branding", partners, nil, 303)
	upload := partners // this route refuses a form that is not multipart
	upload.unknown = 415
	add("POST", "settings/branding/logo", upload, nil, 415)
	for kind, x := range map[string]*target{"links": aLink, "products": aProduct} {
		add("GET", kind, partners, nil, 200)
		both(kind+"/new", partners, nil, 422)
		add("GET", kind+"/:id", partners, x, 200)
		both(kind+"/:id/edit", partners, x, 303)
		both(kind+"/:id/delete", partners, x, 303)
		add("POST", kind+"/:id/picture", upload, x, 415)
	}
	add("GET", "subscriptions", partners, nil, 200)
	add("GET", "subscriptions/:id", partners, aSubscription, 200)
	for _, action := range []string{"pause", "resume", "cancel"} {
		both("subscriptions/:id/"+action, partners, aSubscription, 409)
	}
	add("GET", "keys", partners, nil, 200)
	both("keys/new", partners, nil, 422)
	add("GET", "keys/:id", partners, ofPartner(aKey), 200)
	both("keys/:id/delete", partners, ofPartner(aKey), 303)
	add("GET", "webhooks/deliveries", partners, nil, 303) // redirects to the notifications of the first terminal
	both("webhooks/deliveries/replay", partners, nil, 422)
	add("GET", "webhooks/deliveries/:id", partners, ofPartner(aDelivery), 200)
	both("webhooks/deliveries/:id/replay", partners, ofPartner(aDelivery), 303)
	add("GET", "webhooks/terminals", partners, nil, 200)
	add("GET", "webhooks/terminals/:id", partners, ofPartner(aTerminal), 200)
	both("webhooks/terminals/:id/edit", partners, ofPartner(aTerminal), 303)
	both("webhooks/terminals/:id/test-delivery", partners, ofPartner(aTerminal), 422)
}

// login is a user of an organization.
type login struct {
	owner *recordOwner
	name  string
}

// consoleFixture is a server with a visitor of each kind.
type consoleFixture struct {
	*accessFixture
	logins  map[kind]login
	cookies map[kind]string // values of the session's cookie
	tokens  map[kind]string // CSRF tokens of forms
}

func newConsoleFixture(t *testing.T) *consoleFixture {
	t.Helper()
	f := &consoleFixture{newAccessFixture(t), nil, map[kind]string{}, map[kind]string{}}
	f.cookies[withExpired] = f.openSession(login{f.first, "user-admin"})
	f.advance(31 * 60) // long enough for all idle sessions to expire
	f.operator(f.first.org).post("/api/v1/users", `{"login":"user-beside","name":"U","pass":"`+consolePassword+`","roles":["partner"],"partner_id":`+f.neighbour.partner+`}`).want(201, "")
	f.logins = map[kind]login{
		asAdmin: {f.first, "user-admin"}, asClient: {f.first, "user-client"}, asAuditor: {f.first, "user-auditor"}, asPartner: {f.first, "user-partner"},
		asForeignAdmin: {f.second, "user-admin"}, asForeignClient: {f.second, "user-client"}, asForeignAuditor: {f.second, "user-auditor"},
		asForeignPartner: {f.second, "user-partner"}, asOperator: {f.first, "user-admin"}, asForeignOperator: {f.second, "user-admin"}, withEnded: {f.first, "user-admin"}, asNeighbour: {f.neighbour, "user-beside"},
	}
	for k, who := range f.logins {
		f.enter(k)
		if f.sessions[k] != "" {
			f.sessions[k] = f.fixture.logIn(who.owner.org.String(), loginBody(who.name, consolePassword)).want(201, "").at("data.token")
		}
	}
	f.send(withEnded, "POST", "/console/logout", "").want(303, "")
	first := f.first.org.String() + "."
	f.cookies[withAPIKey], f.cookies[withAdminToken], f.cookies[withAPISession] = first+f.first.key, first+string(f.seed.AdminToken), first+f.sessions[asAdmin]
	_, foreign, _ := strings.Cut(f.cookies[asForeignAdmin], ".")
	f.cookies[withMovedCookie], f.cookies[withRubbish] = first+foreign, "x.y%"
	return f
}

// openSession logs in to the console and returns the value of the session's cookie.
func (f *consoleFixture) openSession(who login) string {
	f.t.Helper()
	form := url.Values{"organization": {who.owner.org.String()}, "login": {who.name}, "pass": {consolePassword}}
	r := f.anyone().with("content-type", "application/x-www-form-urlencoded").post("/console/login", form.Encode()).want(303, "")
	for _, cookie := range r.header.Values("Set-Cookie") {
		if value, isSession := strings.CutPrefix(cookie, "mizan_session="); isSession {
			value, _, _ = strings.Cut(value, ";")
			return value
		}
	}
	f.t.Fatalf("%s has no session", who.name)
	return ""
}

var formToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// enter begins a session of the console for a person, and stores its cookie and CSRF token.
func (f *consoleFixture) enter(k kind) {
	f.t.Helper()
	f.cookies[k] = f.openSession(f.logins[k])
	found := formToken.FindStringSubmatch(f.send(k, "GET", "/console/", "").want(200, "").body)
	if found == nil {
		f.t.Fatalf("%s: the first page has no form", k)
	}
	if f.tokens[k] = "csrf=" + found[1]; k == asOperator || k == asForeignOperator {
		f.send(k, "POST", "/console/admin/token", "token="+url.QueryEscape(string(f.seed.AdminToken))).want(303, "")
	}
}

// send makes a request as a visitor of the given kind. If it posts a form, the form has the session's CSRF token.
func (f *consoleFixture) send(k kind, method, path, form string) *response {
	f.t.Helper()
	c := f.anyone()
	if cookie := f.cookies[k]; cookie != "" {
		c = c.with("cookie", "mizan_session="+cookie)
	}
	if k == withBearer {
		c = f.bearer(f.sessions[asAdmin], f.first.org)
	}
	if method == "GET" {
		return c.get(path)
	}
	return c.with("content-type", "application/x-www-form-urlencoded").do(method, path, f.tokens[k]+"&"+form)
}

// TestEveryConsoleRouteForEveryVisitor makes every visitor open every page and send every form for own, foreign and unknown
// records. Visitors whom a page does not admit change nothing, and a foreign record gets the same response as an unknown one.
func TestEveryConsoleRouteForEveryVisitor(t *testing.T) {
	t.Parallel()
	f := newConsoleFixture(t)
	seeded := f.lastSeq()
	hidden := 0
	for _, name := range f.server.ConsoleRoutes() {
		if row := consoleMatrix[name]; !row.endsSession {
			hidden += f.checkPage(name, &row)
		}
	}
	if hidden < 100 {
		t.Errorf("only %d pages hid something: does the test ask at all?", hidden)
	}
	f.wantAuthorsOfAllWork(seeded)
	for _, k := range consolePeople {
		for name, row := range consoleMatrix {
			if admitted, _ := row.admits(k); row.endsSession && admitted {
				f.enter(k)
				f.send(k, name.Method, name.Path, row.form).want(row.status, "")
			}
		}
		f.enter(k)
		f.send(k, "POST", "/console/logout", "").want(303, "")
		f.wantLed("after the logout of "+string(k), f.send(k, "GET", "/console/", ""), "/console/login")
	}
}

// wantLed checks that the response redirects the visitor to the page to.
func (f *consoleFixture) wantLed(request string, r *response, to string) {
	f.t.Helper()
	if r.status != 303 || !strings.HasPrefix(r.header.Get("location"), to) {
		f.t.Errorf("%s: %d %s, want to be led to %s", request, r.status, r.header.Get("location"), to)
	}
}

// checkPage checks a route for every visitor. It returns how many records of other owners the route has hidden from a visitor.
func (f *consoleFixture) checkPage(name api.RouteName, row *consoleRow) (hidden int) {
	f.t.Helper()
	path := func(id string) string {
		return strings.Replace(withParameter(name.Path, id), "*", "nowhere", 1) + row.query
	}
	own, visitors := map[kind]string{}, slices.Concat(unauthorizedVisitors, consolePeople)
	for _, k := range visitors {
		if owner, _ := f.ownerOf(k); row.target != nil {
			own[k] = f.id(row.target, owner)
		}
	}
	if row.target != nil {
		f.id(row.target, f.neighbour)
	}
	before := f.storedCounts()
	for _, k := range visitors {
		request := name.Method + " " + path(own[k]) + " as " + string(k)
		isAdmitted, asksForToken := row.admits(k)
		if isAdmitted && name.Method == "POST" && row.roles != nil && row.unknown != 415 {
			f.wantFormRefused(k, path(own[k]), row.form)
		}
		switch {
		case asksForToken:
			f.wantLed(request, f.send(k, name.Method, path(own[k]), row.form), "/console/admin/token")
		case isAdmitted && row.target != nil:
			hidden += f.checkForeignPage(name.Method, row, k, path)
		case isAdmitted:
		case slices.Contains(unauthorizedVisitors, k):
			f.wantLed(request, f.send(k, name.Method, path(own[k]), row.form), "/console/login")
		default:
			if r := f.send(k, name.Method, path(own[k]), row.form); r.status != 403 {
				f.t.Errorf("%s: %d, want 403", request, r.status)
			}
		}
	}
	if after := f.storedCounts(); after != before {
		f.t.Errorf("%s %s stored something for who was refused: %+v, before %+v", name.Method, name.Path, after, before)
	}
	for _, k := range visitors {
		if isAdmitted, asksForToken := row.admits(k); !isAdmitted || asksForToken {
			continue
		}
		r := f.send(k, name.Method, path(own[k]), row.form)
		if isLed := strings.HasPrefix(r.header.Get("location"), "/console/login"); r.status != row.status || isLed && row.roles != nil {
			f.t.Errorf("%s %s as %s: %d %s, want %d: %.300s", name.Method, path(own[k]), k, r.status, r.header.Get("location"), row.status, r.body)
		}
	}
	return hidden
}

// wantFormRefused sends a form without a CSRF token, and then with the token of another session. Both must be refused.
func (f *consoleFixture) wantFormRefused(k kind, path, form string) {
	f.t.Helper()
	foreign := f.tokens[asNeighbour]
	if k == asNeighbour {
		foreign = f.tokens[asAdmin]
	}
	c := f.anyone().with("cookie", "mizan_session="+f.cookies[k], "content-type", "application/x-www-form-urlencoded")
	for _, token := range []string{"", foreign} {
		if r := c.do("POST", path, token+"&"+form); r.status != 403 {
			f.t.Errorf("POST %s as %s with the token %q: %d, want 403", path, k, token, r.status)
		}
	}
}

// changing matches the parts of a page that differ in every response.
var changing = regexp.MustCompile(`name="(csrf|form_key)" value="[^"]*"|<code class="id"[^>]*>[0-9a-f-]{36}</code>`)

// checkForeignPage requests an unknown record, and then all records that the visitor may not see. It returns how many of them
// were hidden.
func (f *consoleFixture) checkForeignPage(method string, row *consoleRow, k kind, path func(id string) string) (hidden int) {
	f.t.Helper()
	status := cmp.Or(row.unknown, 404)
	answerTo := func(id string) (r *response, body string) {
		r = f.send(k, method, path(id), row.form)
		return r, changing.ReplaceAllString(strings.ReplaceAll(r.body, "/"+id, "/ID"), "")
	}
	want, wantBody := answerTo(row.target.unknownID)
	if want.status != status {
		f.t.Errorf("%s %s as %s: an id that nobody has: %d %.300s, want %d", method, path(row.target.unknownID), k, want.status, want.body, status)
	}
	for _, other := range f.foreignOwners(k, row.target) {
		got, body := answerTo(f.id(row.target, other))
		if got.status != want.status || body != wantBody {
			f.t.Errorf("%s %s as %s: partner %s's: %d, one that nobody has: %d", method, path("ID"), k, other.partner, got.status, want.status)
		}
		if status == 404 {
			hidden++
		}
	}
	return hidden
}
