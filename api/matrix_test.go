package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mizan/api"
	"mizan/internal/secret"
)

// audience maps each kind of caller to a route's answer to requests about the caller's own
// records; a kind that is missing gets 401.
type audience map[kind]int

// and returns the audience with another answer for some kinds.
func (a audience) and(status int, others ...kind) audience {
	next := maps.Clone(a)
	for _, k := range others {
		next[k] = status
	}
	return next
}

// The audiences of DECISIONS, sections 3 and 4, each with the answer to the callers that the
// route admits. A logged-in person is authenticated: a route that does not admit persons, or
// that role, answers 403. The same holds for a partner that is switched off, wherever its key
// would be admitted.
func partnersOnly(status int) audience {
	return audience{}.and(status, keys...).and(403, byOffKey).and(403, join(admins, auditors, customers, agents)...)
}

func operatorsOnly(status int) audience {
	return audience{}.and(status, operators...).and(403, join(admins, auditors, customers, agents)...)
}

func holdersOnly(status int) audience { return partnersOnly(status).and(status, agents...) }

func readersOnly(status int) audience {
	return holdersOnly(status).and(status, join(admins, auditors)...).and(403, operators...)
}

func auditorsOnly(status int) audience { return readersOnly(status).and(403, join(keys, agents)...) }

func viewersOnly(status int) audience { return readersOnly(status).and(status, operators...) }

func explainersOnly(status int) audience { return viewersOnly(status).and(403, join(keys, agents)...) }

func peopleOnly(status int) audience {
	return audience{}.and(status, join(admins, auditors, customers, agents)...).and(403, join(keys, operators)...).and(403, byOffKey)
}

func anyone(status int) audience { return audience{}.and(status, kinds...) }

// row is the expected behavior of a route.
type row struct {
	may    audience
	body   string
	query  string  // of the path; begins with ?
	of     *target // the kind of record in the path's parameter
	absent int     // the answer about an unknown or foreign record to callers that get neither 401 nor 403; 404 if it is 0

	// last: the route invalidates credentials, so it is tested after all others and may be
	// answered differently afterwards.
	last  bool
	after func(f *accessFixture, a *response)
}

// matrix has a row for each route. A route without a row fails the test.
var matrix = map[api.RouteName]row{
	{Method: "GET", Path: "/api/v1/health"}: {may: anyone(200)},
	{Method: "GET", Path: "/livez"}:         {may: anyone(200)},
	{Method: "GET", Path: "/readyz"}:        {may: anyone(200)},

	{Method: "POST", Path: "/api/v1/transactions"}:            {may: partnersOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/transactions"}:             {may: holdersOnly(200).and(422, operators...)}, // operators must name a partner
	{Method: "GET", Path: "/api/v1/transactions/aggregate"}:   {may: holdersOnly(200)},
	{Method: "GET", Path: "/api/v1/balances"}:                 {may: holdersOnly(200)},
	{Method: "GET", Path: "/api/v1/transactions/:id"}:         {may: viewersOnly(200), of: aTransaction},
	{Method: "GET", Path: "/api/v1/transactions/:id/routing"}: {may: explainersOnly(200), of: aTransaction},
	{Method: "PUT", Path: "/api/v1/transactions/:id"}:         {may: partnersOnly(422), of: aTransaction, body: `{"params":{"type":"cancel"}}`},
	{Method: "POST", Path: "/api/v1/transactions/commit/:id"}: {may: partnersOnly(409), of: aTransaction, body: "{}"},
	{Method: "POST", Path: "/api/v1/transactions/continue/:id"}: {
		may: partnersOnly(422), of: aTransaction, body: `{"money_storage":{"type":"sbp"}}`,
	},
	{Method: "POST", Path: "/api/v1/transactions/additional_params_for_auth/:id"}: {
		may: partnersOnly(409), of: aTransaction, body: `{"additional_params_for_auth":{"otp":"123456"}}`,
	},
	{Method: "POST", Path: "/api/v1/transactions/choose_target_destination/:id"}: {
		may: partnersOnly(409), of: aTransaction, body: `{"target_bank_id":"1"}`,
	},

	{Method: "POST", Path: "/api/v1/subscriptions"}:            {may: partnersOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/subscriptions"}:             {may: holdersOnly(200)},
	{Method: "GET", Path: "/api/v1/subscriptions/:id"}:         {may: holdersOnly(200), of: aSubscription},
	{Method: "POST", Path: "/api/v1/subscriptions/:id/pause"}:  {may: partnersOnly(409), of: aSubscription},
	{Method: "POST", Path: "/api/v1/subscriptions/:id/resume"}: {may: partnersOnly(409), of: aSubscription},
	{Method: "POST", Path: "/api/v1/subscriptions/:id/cancel"}: {may: partnersOnly(409), of: aSubscription},

	{Method: "POST", Path: "/api/v1/organizations"}:      {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/organizations"}:       {may: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/organizations/:id"}:   {may: operatorsOnly(200), of: anOrganization},
	{Method: "PATCH", Path: "/api/v1/organizations/:id"}: {may: operatorsOnly(200), of: anOrganization, body: "{}"},

	{Method: "POST", Path: "/api/v1/partners"}:                {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/partners"}:                 {may: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/partners/:id"}:             {may: operatorsOnly(200), of: aPartner},
	{Method: "PATCH", Path: "/api/v1/partners/:id"}:           {may: operatorsOnly(200), of: aPartner, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/partners/:id"}:          {may: operatorsOnly(200), of: aSparePartner},
	{Method: "GET", Path: "/api/v1/partners/:id/settlements"}: {may: operatorsOnly(200), of: aPartner},
	{Method: "POST", Path: "/api/v1/partners/:id/settlements"}: {
		may: operatorsOnly(201), of: aPartner, body: `{"direction":"in","amount":"1","currency":"USD","env":"test","reference":"matrix"}`,
	},

	{Method: "POST", Path: "/api/v1/terminal"}:                {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/terminals"}:                {may: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/terminal/:id"}:             {may: operatorsOnly(200), of: aTerminal},
	{Method: "PATCH", Path: "/api/v1/terminal/:id"}:           {may: operatorsOnly(200), of: aTerminal, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/terminal/:id"}:          {may: operatorsOnly(200), of: aTerminal},
	{Method: "GET", Path: "/api/v1/terminal/:id/settlements"}: {may: operatorsOnly(200), of: aTerminal},
	{Method: "POST", Path: "/api/v1/terminal/:id/settlements"}: {
		may: operatorsOnly(201), of: aTerminal, body: `{"gross":"2","fee":"1","currency":"USD","env":"test","reference":"matrix"}`,
	},
	{Method: "POST", Path: "/api/v1/terminal/:id/notifications"}: {may: audience{}, of: aTerminal, body: "{}"}, // no caller here has the secret
	{Method: "GET", Path: "/api/v1/settlements/:id"}:             {may: operatorsOnly(200), of: aSettlement},

	{Method: "POST", Path: "/api/v1/api_keys"}:       {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/api_keys"}:        {may: operatorsOnly(200)},
	{Method: "DELETE", Path: "/api/v1/api_keys/:id"}: {may: operatorsOnly(200), of: aKey},
	{Method: "POST", Path: "/api/v1/users"}:          {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/users"}:           {may: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/users/:id"}:       {may: operatorsOnly(200), of: aUser},
	{Method: "PATCH", Path: "/api/v1/users/:id"}:     {may: operatorsOnly(200), of: aUser, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/users/:id"}:    {may: operatorsOnly(200), of: aUser},
	{Method: "PUT", Path: "/api/v1/rates"}:           {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/rates"}:           {may: operatorsOnly(200)},

	{Method: "POST", Path: "/api/v1/limits"}:          {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/limits"}:           {may: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/limits/:id"}:       {may: operatorsOnly(200), of: aLimit},
	{Method: "PATCH", Path: "/api/v1/limits/:id"}:     {may: operatorsOnly(200), of: aLimit, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/limits/:id"}:    {may: operatorsOnly(200), of: aLimit},
	{Method: "GET", Path: "/api/v1/limits/:id/usage"}: {may: operatorsOnly(200), of: aLimit},
	{Method: "POST", Path: "/api/v1/blocklist"}:       {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/blocklist"}:        {may: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/blocklist/:id"}:    {may: operatorsOnly(200), of: aBlock},
	{Method: "DELETE", Path: "/api/v1/blocklist/:id"}: {may: operatorsOnly(200), of: aBlock},

	{Method: "POST", Path: "/api/v1/backups"}: {may: operatorsOnly(200), body: "{}"},

	{Method: "GET", Path: "/api/v1/deliveries"}:                  {may: operatorsOnly(200)},
	{Method: "POST", Path: "/api/v1/deliveries/replay"}:          {may: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/deliveries/:id"}:              {may: operatorsOnly(200), of: aDelivery},
	{Method: "POST", Path: "/api/v1/deliveries/:id/replay"}:      {may: operatorsOnly(200), of: aDelivery},
	{Method: "POST", Path: "/api/v1/terminal/:id/test-delivery"}: {may: operatorsOnly(422), of: aTerminal}, // it has no address

	{Method: "POST", Path: "/api/v1/sessions"}:           {may: anyone(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/sessions/current"}:    {may: peopleOnly(200)},
	{Method: "DELETE", Path: "/api/v1/sessions/current"}: {may: peopleOnly(204), last: true},
	{Method: "POST", Path: "/api/v1/admin_tokens/rotate"}: {
		may: operatorsOnly(201), last: true,
		after: func(f *accessFixture, a *response) { f.seed.AdminToken = secret.Text(a.at("data.token")) },
	},

	{Method: "GET", Path: "/api/v1/ledger/accounts"}:       {may: readersOnly(200)},
	{Method: "GET", Path: "/api/v1/ledger/accounts/:path"}: {may: readersOnly(200), of: anAccount, query: "?currency=USD&env=test"},
	{Method: "GET", Path: "/api/v1/ledger/accounts/:path/postings"}: {
		may: readersOnly(200), of: anAccount, query: "?currency=USD&env=test",
	},
	{Method: "GET", Path: "/api/v1/ledger/trial-balance"}:         {may: readersOnly(200)},
	{Method: "GET", Path: "/api/v1/ledger/entries"}:               {may: readersOnly(200)},
	{Method: "GET", Path: "/api/v1/ledger/entries/:seq"}:          {may: readersOnly(200), of: anEntry},
	{Method: "GET", Path: "/api/v1/ledger/events"}:                {may: readersOnly(200)},
	{Method: "GET", Path: "/api/v1/ledger/periods"}:               {may: auditorsOnly(200)},
	{Method: "POST", Path: "/api/v1/ledger/periods/:month/close"}: {may: closersOnly(409), of: aMonth, absent: 409}, // the month has not ended
	{Method: "GET", Path: "/api/v1/ledger/head"}:                  {may: auditorsOnly(200)},
	{Method: "GET", Path: "/api/v1/ledger/export"}:                {may: auditorsOnly(200), query: "?format=csv"},
	{Method: "GET", Path: "/api/v1/ledger/key"}:                   {may: auditorsOnly(200)},

	{Method: "GET", Path: "/api/v1/ledger/proofs/inclusion"}:   {may: auditorsOnly(200), query: "?seq=1"},
	{Method: "GET", Path: "/api/v1/ledger/proofs/consistency"}: {may: auditorsOnly(200), query: "?from=1"},

	// A page opens only with its token.
	{Method: "GET", Path: "/pay/:id"}:              {may: anyone(404), of: aTransaction},
	{Method: "POST", Path: "/pay/:id"}:             {may: anyone(404), of: aTransaction},
	{Method: "GET", Path: "/pay/:id/return"}:       {may: anyone(404), of: aTransaction},
	{Method: "POST", Path: "/pay/:id/return"}:      {may: anyone(404), of: aTransaction},
	{Method: "GET", Path: "/simulator/challenge"}:  {may: anyone(404)},
	{Method: "POST", Path: "/simulator/challenge"}: {may: anyone(404)},

	{Method: "GET", Path: "/api/v1/sandbox/clock"}: {may: operatorsOnly(200)},
	{Method: "PUT", Path: "/api/v1/sandbox/clock"}: {may: operatorsOnly(422), body: "{}"},
}

// status returns the answer about the caller's own record, and about another one.
func (r *row) status(k kind) (own, other int) {
	own, known := r.may[k]
	switch {
	case !known:
		return 401, 401
	case own == 401 || own == 403:
		return own, own
	case r.absent != 0:
		return own, r.absent
	}
	return own, 404
}

// ask makes the route's request as a caller of the kind.
func (f *accessFixture) ask(name api.RouteName, r *row, k kind, id string) *response {
	f.t.Helper()
	return f.as(k).do(name.Method, withParameter(name.Path, id)+r.query, r.body)
}

func TestEveryRouteHasARowAndIsServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.Updates = ignoredUpdates{} })
	table := f.server.Routes()
	for _, r := range table {
		m, there := matrix[r]
		if !there {
			t.Errorf("%s %s has no row in the matrix: say who may ask for it, and what becomes of the others", r.Method, r.Path)
		} else if strings.Contains(r.Path, ":") != (m.of != nil) {
			t.Errorf("%s %s: its row does not say what its parameter names", r.Method, r.Path)
		}
	}
	for r := range matrix {
		if !slices.Contains(table, r) {
			t.Errorf("%s %s has a row but is no route", r.Method, r.Path)
		}
	}
	// The router serves exactly the routes in the table.
	for _, r := range f.server.Served() {
		if r.Method == "HEAD" {
			r.Method = "GET"
		}
		if !slices.Contains(table, r) {
			t.Errorf("the router serves %s %s", r.Method, r.Path)
		}
	}
}

// TestEveryRouteForEveryCaller makes each kind of caller request every route for its own
// records. A refused request must change nothing.
func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	for _, last := range []bool{false, true} {
		for _, name := range f.server.Routes() {
			if r := matrix[name]; r.last == last {
				f.checkEveryCaller(name, &r)
			}
		}
	}
}

func (f *accessFixture) checkEveryCaller(name api.RouteName, r *row) {
	ids := map[kind]string{}
	for _, k := range kinds {
		if at, _ := f.placeOf(k); r.of != nil {
			ids[k] = f.id(r.of, at)
		}
	}
	ask := func(k kind, want int) *response {
		a := f.ask(name, r, k, ids[k])
		if a.status != want || want == 401 && a.body != unauthorized {
			f.t.Errorf("%s %s as %s: %d %s, want %d", name.Method, name.Path, k, a.status, a.body, want)
		}
		return a
	}
	before := f.storedCounts()
	for _, k := range kinds {
		if want, _ := r.status(k); want >= 400 {
			ask(k, want)
		}
	}
	if after := f.storedCounts(); after != before {
		f.t.Errorf("%s %s stored something for who was refused: %+v, before %+v", name.Method, name.Path, after, before)
	}
	for _, k := range kinds {
		if want, _ := r.status(k); want < 400 {
			if a := ask(k, want); r.after != nil && a.status == want {
				r.after(f, a)
			}
		}
	}
}

// TestForeignIDsEqualUnknownIDs makes each kind of caller request the records of other
// partners and organizations. The answers must equal those for an unknown id, byte for byte,
// and nothing may change.
func TestForeignIDsEqualUnknownIDs(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	hidden := 0
	for _, name := range f.server.Routes() {
		r := matrix[name]
		if r.of == nil {
			continue
		}
		for _, at := range []*place{f.first, f.beside, f.second} {
			f.id(r.of, at)
		}
		before := f.storedCounts()
		for _, k := range kinds {
			hidden += f.checkForeign(name, &r, k)
		}
		if after := f.storedCounts(); after != before {
			t.Errorf("%s %s stored something: %+v, before %+v", name.Method, name.Path, after, before)
		}
	}
	if hidden < 150 {
		t.Errorf("only %d answers hid something: is the matrix asking at all?", hidden)
	}
}

// checkForeign requests an unknown record, then all records that are foreign to the caller, and
// returns the number of foreign records that were hidden.
func (f *accessFixture) checkForeign(name api.RouteName, r *row, k kind) (hidden int) {
	_, status := r.status(k)
	want := f.ask(name, r, k, r.of.none)
	if want.status != status {
		f.t.Errorf("%s %s as %s: an id that nobody has: %d %s, want %d", name.Method, name.Path, k, want.status, want.body, status)
	}
	for _, other := range f.foreignPlaces(k, r.of) {
		got := f.ask(name, r, k, f.id(r.of, other))
		if got.status != want.status || got.body != want.body || sameHeaders(got) != sameHeaders(want) {
			f.t.Errorf("%s %s as %s: partner %s's: %d %s, one that nobody has: %d %s",
				name.Method, name.Path, k, other.partner, got.status, got.body, want.status, want.body)
		}
		if status == 404 {
			hidden++
		}
	}
	return hidden
}
