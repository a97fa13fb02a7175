package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
)

// role is a kind of caller of the matrix.
type role string

const (
	nobody     role = "nobody"
	byKey      role = "partner key"
	byAdmin    role = "admin token"
	bySession  role = "session admin"
	byAuditor  role = "session auditor"
	otherKey   role = "partner key of another organization"
	otherAdmin role = "session of another organization"
)

var roles = []role{nobody, byKey, byAdmin, bySession, byAuditor, otherKey, otherAdmin}

// as is a caller of that role who names the first organization, wherever it
// really belongs.
func (h *house) as(r role) caller {
	first := h.seed.First.Org.String()
	switch r {
	case byKey:
		return h.partner()
	case byAdmin:
		return h.admin()
	case bySession:
		return h.session()
	case byAuditor:
		return h.auditor()
	case otherKey:
		return h.second().with("x-organization-id", first)
	case otherAdmin:
		return h.bearer(string(h.seed.Second.SessionToken), h.seed.First.Org)
	}
	return h.anyone()
}

// row is what the matrix knows of a route.
type row struct {
	body     string
	statuses map[role]int // others than those of the group

	// id is the path's parameter: one of the first organization, made by the
	// function, is asked for inside the second one.
	id func(h *house) string
	// random is an id of the same kind that nobody has.
	random string
}

// Who may do what, by hand: the answer to a caller who sends an empty object.
var (
	partnersOnly = map[role]int{byKey: 422, byAdmin: 401, bySession: 401, byAuditor: 401}
	adminsOnly   = map[role]int{byKey: 401, byAdmin: 200, bySession: 403, byAuditor: 403}
	readersOnly  = map[role]int{byKey: 200, byAdmin: 403, bySession: 200, byAuditor: 200}
	tokensOnly   = map[role]int{nobody: 404, byKey: 404, byAdmin: 404, bySession: 404, byAuditor: 404, otherKey: 404, otherAdmin: 404}
)

func but(group map[role]int, pairs ...any) map[role]int {
	changed := map[role]int{}
	for r, status := range group {
		changed[r] = status
	}
	for i := 0; i < len(pairs); i += 2 {
		changed[pairs[i].(role)] = pairs[i+1].(int)
	}
	return changed
}

func own(id string) func(*house) string { return func(*house) string { return id } }

func (h *house) firstOf(list string) string { return h.admin().get("/api/v1/" + list).at("data.0.id") }

// paid is a charged payment of the first partner.
func (h *house) paid() string {
	return h.partner().post(transactions, payment(`"amount":"1"`)).at("id")
}

// matrix has a row for each route; a route without one fails the test.
var matrix = map[api.RouteName]row{
	{Method: "GET", Path: "/api/v1/health"}: {statuses: map[role]int{nobody: 200, byKey: 200, byAdmin: 200, bySession: 200, byAuditor: 200, otherKey: 200, otherAdmin: 200}},

	{Method: "POST", Path: "/api/v1/transactions"}:          {body: "{}", statuses: partnersOnly},
	{Method: "GET", Path: "/api/v1/transactions"}:           {statuses: but(partnersOnly, byKey, 200)},
	{Method: "GET", Path: "/api/v1/transactions/aggregate"}: {statuses: but(partnersOnly, byKey, 200)},
	{Method: "GET", Path: "/api/v1/balances"}:               {statuses: but(partnersOnly, byKey, 200)},
	{Method: "GET", Path: "/api/v1/transactions/:id"}: {
		statuses: but(partnersOnly, byKey, 200), random: uuid.NewString(),
		id: (*house).paid,
	},
	{Method: "PUT", Path: "/api/v1/transactions/:id"}: {
		body: `{"params":{"type":"cancel"}}`, statuses: partnersOnly, id: (*house).paid, random: uuid.NewString(),
	},
	{Method: "POST", Path: "/api/v1/transactions/commit/:id"}: {
		body: "{}", statuses: but(partnersOnly, byKey, 409), id: (*house).paid, random: uuid.NewString(),
	},
	{Method: "POST", Path: "/api/v1/transactions/continue/:id"}: {
		body: `{"money_storage":{"type":"sbp"}}`, statuses: partnersOnly, id: (*house).paid, random: uuid.NewString(),
	},
	{Method: "POST", Path: "/api/v1/transactions/additional_params_for_auth/:id"}: {
		body: `{"additional_params_for_auth":{"otp":"123456"}}`, statuses: but(partnersOnly, byKey, 409), id: (*house).paid, random: uuid.NewString(),
	},
	{Method: "POST", Path: "/api/v1/transactions/choose_target_destination/:id"}: {
		body: `{"target_bank_id":"1"}`, statuses: but(partnersOnly, byKey, 409), id: (*house).paid, random: uuid.NewString(),
	},

	{Method: "POST", Path: "/api/v1/organizations"}:    {body: "{}", statuses: but(adminsOnly, byAdmin, 422)},
	{Method: "GET", Path: "/api/v1/organizations"}:     {statuses: adminsOnly},
	{Method: "GET", Path: "/api/v1/organizations/:id"}: {statuses: adminsOnly, id: func(h *house) string { return h.seed.First.Org.String() }},
	{Method: "PATCH", Path: "/api/v1/organizations/:id"}: {
		body: "{}", statuses: adminsOnly, id: func(h *house) string { return h.seed.First.Org.String() },
	},
	{Method: "POST", Path: "/api/v1/partners"}:      {body: "{}", statuses: but(adminsOnly, byAdmin, 422)},
	{Method: "GET", Path: "/api/v1/partners"}:       {statuses: adminsOnly},
	{Method: "GET", Path: "/api/v1/partners/:id"}:   {statuses: adminsOnly, id: own("1"), random: "999999"},
	{Method: "PATCH", Path: "/api/v1/partners/:id"}: {body: "{}", statuses: adminsOnly, id: own("1"), random: "999999"},
	{Method: "DELETE", Path: "/api/v1/partners/:id"}: {
		statuses: adminsOnly, random: "999999",
		id: func(h *house) string { // the other rows act as the first one
			if newest := h.firstOf("partners"); newest != "1" {
				return newest
			}
			return h.admin().post("/api/v1/partners", `{"name":"spare","login":"spare","pass":"p"}`).at("id")
		},
	},
	{Method: "POST", Path: "/api/v1/terminal"}: {body: "{}", statuses: but(adminsOnly, byAdmin, 422)},
	{Method: "GET", Path: "/api/v1/terminals"}: {statuses: adminsOnly},
	{Method: "GET", Path: "/api/v1/terminal/:id"}: {
		statuses: adminsOnly, id: func(h *house) string { return h.firstOf("terminals") }, random: uuid.NewString(),
	},
	{Method: "PATCH", Path: "/api/v1/terminal/:id"}: {
		body: "{}", statuses: adminsOnly, id: func(h *house) string { return h.firstOf("terminals") }, random: uuid.NewString(),
	},
	{Method: "DELETE", Path: "/api/v1/terminal/:id"}: {
		statuses: adminsOnly, random: uuid.NewString(),
		id: func(h *house) string {
			return h.admin().post("/api/v1/terminal", `{"name":"spare","type":"merchant","partner_id":1}`).at("data.id")
		},
	},
	{Method: "POST", Path: "/api/v1/api_keys"}: {body: "{}", statuses: but(adminsOnly, byAdmin, 422)},
	{Method: "GET", Path: "/api/v1/api_keys"}:  {statuses: adminsOnly},
	{Method: "DELETE", Path: "/api/v1/api_keys/:id"}: {
		statuses: adminsOnly, random: uuid.NewString(),
		id: func(h *house) string {
			return h.admin().post("/api/v1/api_keys", `{"name":"spare","partner_id":1}`).at("id")
		},
	},
	{Method: "PUT", Path: "/api/v1/rates"}: {body: "{}", statuses: but(adminsOnly, byAdmin, 422)},
	{Method: "GET", Path: "/api/v1/rates"}: {statuses: adminsOnly},

	{Method: "GET", Path: "/api/v1/ledger/accounts"}:       {statuses: readersOnly},
	{Method: "GET", Path: "/api/v1/ledger/accounts/:path"}: {statuses: readersOnly, id: own("L:partner:1:available"), random: "L:partner:999:available"},
	{Method: "GET", Path: "/api/v1/ledger/accounts/:path/postings"}: {
		statuses: but(readersOnly, byKey, 422, bySession, 422, byAuditor, 422), id: own("L:partner:1:available"), random: "L:partner:999:available",
	},
	{Method: "GET", Path: "/api/v1/ledger/trial-balance"}: {statuses: readersOnly},
	{Method: "GET", Path: "/api/v1/ledger/entries"}:       {statuses: readersOnly},
	{Method: "GET", Path: "/api/v1/ledger/entries/:seq"}: {
		statuses: readersOnly, random: "999999",
		id: func(h *house) string { // one that the shorter journal of the second organization hasn't reached
			h.partner().post(transactions, payment(`"amount":"1"`)).want(201, "")
			return h.auditor().get("/api/v1/ledger/entries?env=test").at("data.0.seq")
		},
	},
	{Method: "GET", Path: "/api/v1/ledger/events"}: {statuses: readersOnly},
	{Method: "GET", Path: "/api/v1/ledger/head"}:   {statuses: but(readersOnly, byKey, 403)},

	{Method: "GET", Path: "/pay/:id"}:              {statuses: tokensOnly, id: (*house).paid, random: uuid.NewString()},
	{Method: "POST", Path: "/pay/:id"}:             {statuses: tokensOnly, id: (*house).paid, random: uuid.NewString()},
	{Method: "GET", Path: "/pay/:id/return"}:       {statuses: tokensOnly, id: (*house).paid, random: uuid.NewString()},
	{Method: "POST", Path: "/pay/:id/return"}:      {statuses: tokensOnly, id: (*house).paid, random: uuid.NewString()},
	{Method: "GET", Path: "/simulator/challenge"}:  {statuses: tokensOnly},
	{Method: "POST", Path: "/simulator/challenge"}: {statuses: tokensOnly},

	{Method: "GET", Path: "/api/v1/sandbox/clock"}: {statuses: adminsOnly},
	{Method: "PUT", Path: "/api/v1/sandbox/clock"}: {body: "{}", statuses: but(adminsOnly, byAdmin, 422)},
}

func TestEveryRouteHasARowAndIsServed(t *testing.T) {
	t.Parallel()
	h := open(t)
	table := h.server.Routes()
	for _, r := range table {
		if _, there := matrix[r]; !there {
			t.Errorf("%s %s has no row", r.Method, r.Path)
		}
	}
	for r := range matrix {
		if !slices.Contains(table, r) {
			t.Errorf("%s %s has a row but is no route", r.Method, r.Path)
		}
	}
	// The router serves what the table says, and nothing besides.
	for _, r := range h.server.Served() {
		if r.Method == "HEAD" {
			r.Method = "GET"
		}
		if !slices.Contains(table, r) {
			t.Errorf("the router serves %s %s", r.Method, r.Path)
		}
	}
}

func TestEveryRouteForEveryRole(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, r := range h.server.Routes() {
		m := matrix[r]
		for _, who := range roles {
			path := r.Path
			if m.id != nil {
				path = withParameter(path, m.id(h))
			}
			want, said := m.statuses[who]
			if !said {
				want = 401
			}
			a := h.as(who).do(r.Method, path, m.body)
			if a.status != want {
				t.Errorf("%s %s as %s: %d %s, want %d", r.Method, path, who, a.status, a.body, want)
			}
			if want == 401 && a.body != unauthorized {
				t.Errorf("%s %s as %s: %s", r.Method, path, who, a.body)
			}
		}
	}
}

func withParameter(path, value string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = value
		}
	}
	return strings.Join(parts, "/")
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	t.Parallel()
	h := open(t)
	served := map[string][]string{}
	for _, r := range h.server.Routes() {
		served[r.Path] = nil
	}
	for path := range served { // a path may be another one's too: "aggregate" is where an id may stand
		for _, r := range h.server.Routes() {
			if r.Path == path || isOf(path, r.Path) {
				served[path] = append(served[path], r.Method)
			}
		}
	}
	for path, methods := range served {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if slices.Contains(methods, method) {
				continue
			}
			a := h.anyone().do(method, withParameter(path, "x"), "")
			if a.status != 405 {
				t.Errorf("%s %s: %d", method, path, a.status)
			}
			for _, allowed := range methods {
				if !strings.Contains(a.header.Get("allow"), allowed) {
					t.Errorf("%s %s: allow %q", method, path, a.header.Get("allow"))
				}
			}
		}
	}
}

// isOf tells whether a path without parameters is one of a pattern's.
func isOf(path, pattern string) bool {
	said, wanted := strings.Split(path, "/"), strings.Split(pattern, "/")
	if len(said) != len(wanted) || strings.Contains(path, ":") {
		return false
	}
	for i := range said {
		if said[i] != wanted[i] && !strings.HasPrefix(wanted[i], ":") {
			return false
		}
	}
	return true
}

// neighbour is another partner of the first organization.
func (h *house) neighbour() caller {
	p := h.admin().post("/api/v1/partners", `{"name":"N","login":"neighbour","pass":"p"}`).want(201, "")
	k := h.admin().post("/api/v1/api_keys", `{"name":"n","partner_id":`+p.at("id")+`}`).want(201, "")
	return h.partner().with("x-api-key", k.at("key"))
}

// An id of the first organization is asked for inside the second one by
// everybody who may ask there at all, and by a neighbour inside the first.
func TestForeignIDsAnswerAsRandomOnes(t *testing.T) {
	t.Parallel()
	h := open(t)
	outsiders := []caller{
		h.second(), h.bearer(string(h.seed.Second.SessionToken), h.seed.Second.Org), h.bearer(string(h.seed.AdminToken), h.seed.Second.Org), h.neighbour(),
	}
	asked := 0
	for _, r := range h.server.Routes() {
		m := matrix[r]
		if m.random == "" {
			if strings.Contains(r.Path, ":") && !strings.Contains(r.Path, "organizations") {
				t.Errorf("%s %s has no random id", r.Method, r.Path)
			}
			continue
		}
		foreign := withParameter(r.Path, m.id(h))
		for _, c := range outsiders {
			want := c.do(r.Method, withParameter(r.Path, m.random), m.body)
			got := c.do(r.Method, foreign, m.body)
			if got.status != want.status || got.body != want.body || sameHeaders(got) != sameHeaders(want) {
				t.Errorf("%s %s: %d %s, a random id %d %s", r.Method, foreign, got.status, got.body, want.status, want.body)
			}
			if want.status == 404 {
				asked++
			}
		}
	}
	if asked < 16 {
		t.Errorf("only %d answers were a 404: is the matrix asking at all?", asked)
	}
}
