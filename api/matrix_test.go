package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mizan/api"
	"mizan/api/description"
	"mizan/internal/secret"
)

// audience maps each kind of caller to the status of a route's response if the caller requests a record of its own. A kind that
// is not in the map gets 401.
type audience map[kind]int

// with returns the audience with another status for some kinds.
func (a audience) with(status int, kinds ...kind) audience {
	next := maps.Clone(a)
	for _, k := range kinds {
		next[k] = status
	}
	return next
}

// partnerKeysOnly and the functions after it return the audiences that routes have. Callers whom the route admits get status. A
// person with a valid session gets 403 if the route does not admit the person's role. A deactivated partner gets 403 on a route
// that would otherwise admit its API key.
func partnerKeysOnly(status int) audience {
	return audience{}.with(status, partnerKeys...).with(403, byInactivePartner).with(403, join(admins, auditors, clientSessions, partnerSessions)...)
}

func operatorsOnly(status int) audience {
	return audience{}.with(status, operators...).with(403, join(admins, auditors, clientSessions, partnerSessions)...)
}

func partnersAndTheirSessions(status int) audience {
	return partnerKeysOnly(status).with(status, partnerSessions...)
}

func ledgerReaders(status int) audience {
	return partnersAndTheirSessions(status).with(status, join(admins, auditors)...).with(403, operators...)
}

func adminsAndAuditors(status int) audience {
	return ledgerReaders(status).with(403, join(partnerKeys, partnerSessions)...)
}

func allButClients(status int) audience { return ledgerReaders(status).with(status, operators...) }

func operatorsAdminsAndAuditors(status int) audience {
	return allButClients(status).with(403, join(partnerKeys, partnerSessions)...)
}

// keysAndOperators is the audience of the storefront's routes that write. The storefront's routes that read also admit the
// partner's sessions.
func keysAndOperators(status int) audience { return partnerKeysOnly(status).with(status, operators...) }

func storefrontReaders(status int) audience {
	return keysAndOperators(status).with(status, partnerSessions...)
}

func sessionsOnly(status int) audience {
	return audience{}.with(status, join(admins, auditors, clientSessions, partnerSessions)...).with(403, join(partnerKeys, operators)...).with(403, byInactivePartner)
}

func anyone(status int) audience { return audience{}.with(status, kinds...) }

// row is the expected behavior of a route.
type row struct {
	want        audience
	body        string
	query       string  // the query of the URL; begins with ?
	target      *target // the kind of record whose id is the parameter in the route's path
	wantUnknown int     // the status for an unknown or foreign record if the caller gets neither 401 nor 403; 0: 404

	isLast    bool                                // the route is tested after all others, because it invalidates credentials
	onSuccess func(f *accessFixture, r *response) // called after each request that succeeds
}

// matrix has a row for each route. A route without a row fails the test.
var matrix = map[api.RouteName]row{
	{Method: "GET", Path: "/api/v1/health"}: {want: anyone(200)},
	{Method: "GET", Path: "/livez"}:         {want: anyone(200)},
	{Method: "GET", Path: "/readyz"}:        {want: anyone(200)},

	{Method: "GET", Path: "/"}:             {want: anyone(200)},
	{Method: "GET", Path: "/docs"}:         {want: anyone(200)},
	{Method: "GET", Path: "/docs/search"}:  {want: anyone(200), query: "?q=refund"},
	{Method: "GET", Path: "/docs/:page"}:   {want: anyone(200), target: aReferencePage},
	{Method: "GET", Path: "/openapi.json"}: {want: anyone(200)},
	{Method: "GET", Path: "/openapi.yaml"}: {want: anyone(200)},

	{Method: "POST", Path: "/api/v1/transactions"}:            {want: partnerKeysOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/transactions"}:             {want: partnersAndTheirSessions(200).with(422, operators...)}, // operators must name a partner
	{Method: "GET", Path: "/api/v1/transactions/aggregate"}:   {want: partnersAndTheirSessions(200)},
	{Method: "GET", Path: "/api/v1/balances"}:                 {want: partnersAndTheirSessions(200)},
	{Method: "GET", Path: "/api/v1/turnover"}:                 {want: allButClients(200).with(422, join(operators, admins, auditors)...)}, // these three must name a partner
	{Method: "GET", Path: "/api/v1/transactions/:id"}:         {want: allButClients(200), target: aTransaction},
	{Method: "GET", Path: "/api/v1/transactions/:id/routing"}: {want: operatorsAdminsAndAuditors(200), target: aTransaction},
	{Method: "PUT", Path: "/api/v1/transactions/:id"}:         {want: partnerKeysOnly(422), target: aTransaction, body: `{"params":{"type":"cancel"}}`},
	{Method: "POST", Path: "/api/v1/transactions/commit/:id"}: {want: partnerKeysOnly(409), target: aTransaction, body: "{}"},
	{Method: "POST", Path: "/api/v1/transactions/continue/:id"}: {
		want: partnerKeysOnly(422), target: aTransaction, body: `{"money_storage":{"type":"sbp"}}`,
	},
	{Method: "POST", Path: "/api/v1/transactions/additional_params_for_auth/:id"}: {
		want: partnerKeysOnly(409), target: aTransaction, body: `{"additional_params_for_auth":{"otp":"123456"}}`,
	},
	{Method: "POST", Path: "/api/v1/transactions/choose_target_destination/:id"}: {
		want: partnerKeysOnly(409), target: aTransaction, body: `{"target_bank_id":"1"}`,
	},

	{Method: "POST", Path: "/api/v1/subscriptions"}:            {want: partnerKeysOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/subscriptions"}:             {want: partnersAndTheirSessions(200)},
	{Method: "GET", Path: "/api/v1/subscriptions/:id"}:         {want: partnersAndTheirSessions(200), target: aSubscription},
	{Method: "POST", Path: "/api/v1/subscriptions/:id/pause"}:  {want: partnerKeysOnly(409), target: aSubscription},
	{Method: "POST", Path: "/api/v1/subscriptions/:id/resume"}: {want: partnerKeysOnly(409), target: aSubscription},
	{Method: "POST", Path: "/api/v1/subscriptions/:id/cancel"}: {want: partnerKeysOnly(409), target: aSubscription},

	{Method: "POST", Path: "/api/v1/organizations"}:      {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/organizations"}:       {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/organizations/:id"}:   {want: operatorsOnly(200), target: anOrganization},
	{Method: "PATCH", Path: "/api/v1/organizations/:id"}: {want: operatorsOnly(200), target: anOrganization, body: "{}"},

	{Method: "POST", Path: "/api/v1/partners"}:                {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/partners"}:                 {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/partners/:id"}:             {want: operatorsOnly(200), target: aPartner},
	{Method: "PATCH", Path: "/api/v1/partners/:id"}:           {want: operatorsOnly(200), target: aPartner, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/partners/:id"}:          {want: operatorsOnly(200), target: aSparePartner},
	{Method: "GET", Path: "/api/v1/partners/:id/settlements"}: {want: operatorsOnly(200), target: aPartner},
	{Method: "POST", Path: "/api/v1/partners/:id/settlements"}: {
		want: operatorsOnly(201), target: aPartner, body: `{"direction":"in","amount":"1","currency":"USD","env":"test","reference":"matrix"}`,
	},

	{Method: "POST", Path: "/api/v1/terminal"}:                {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/terminals"}:                {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/terminal/:id"}:             {want: operatorsOnly(200), target: aTerminal},
	{Method: "PATCH", Path: "/api/v1/terminal/:id"}:           {want: operatorsOnly(200), target: aTerminal, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/terminal/:id"}:          {want: operatorsOnly(200), target: aTerminal},
	{Method: "GET", Path: "/api/v1/terminal/:id/settlements"}: {want: operatorsOnly(200), target: aTerminal},
	{Method: "POST", Path: "/api/v1/terminal/:id/settlements"}: {
		want: operatorsOnly(201), target: aTerminal, body: `{"gross":"2","fee":"1","currency":"USD","env":"test","reference":"matrix"}`,
	},
	{Method: "POST", Path: "/api/v1/providers/stripe/:id"}:       {want: anyone(400), target: aTerminal, wantUnknown: 400, body: "{}"}, // no terminal here is of provider stripe
	{Method: "POST", Path: "/api/v1/terminal/:id/notifications"}: {want: audience{}, target: aTerminal, body: "{}"},                    // no caller here has the secret
	{Method: "GET", Path: "/api/v1/settlements/:id"}:             {want: operatorsOnly(200), target: aSettlement},

	{Method: "GET", Path: "/api/v1/search"}:   {want: operatorsOnly(200), query: "?q=tea"},
	{Method: "GET", Path: "/api/v1/circuits"}: {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/system"}:   {want: operatorsOnly(200)},

	{Method: "GET", Path: "/api/v1/cluster"}:                {want: operatorsOnly(200)},
	{Method: "POST", Path: "/api/v1/cluster/transfer"}:      {want: operatorsOnly(422), body: "{}"},
	{Method: "POST", Path: "/api/v1/cluster/move"}:          {want: operatorsOnly(422), body: "{}"},
	{Method: "POST", Path: "/api/v1/cluster/nodes"}:         {want: operatorsOnly(422), body: "{}"},
	{Method: "DELETE", Path: "/api/v1/cluster/nodes/:name"}: {want: operatorsOnly(200), target: aNode},

	{Method: "POST", Path: "/api/v1/api_keys"}:       {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/api_keys"}:        {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/api_keys/:id"}:    {want: operatorsOnly(200), target: aKey},
	{Method: "DELETE", Path: "/api/v1/api_keys/:id"}: {want: operatorsOnly(200), target: aKey},
	{Method: "POST", Path: "/api/v1/users"}:          {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/users"}:           {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/users/:id"}:       {want: operatorsOnly(200), target: aUser},
	{Method: "PATCH", Path: "/api/v1/users/:id"}:     {want: operatorsOnly(200), target: aUser, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/users/:id"}:    {want: operatorsOnly(200), target: aUser},
	{Method: "PUT", Path: "/api/v1/rates"}:           {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/rates"}:           {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/rates/:id"}:       {want: operatorsOnly(200), target: aRate},

	{Method: "POST", Path: "/api/v1/limits"}:          {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/limits"}:           {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/limits/:id"}:       {want: operatorsOnly(200), target: aLimit},
	{Method: "PATCH", Path: "/api/v1/limits/:id"}:     {want: operatorsOnly(200), target: aLimit, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/limits/:id"}:    {want: operatorsOnly(200), target: aLimit},
	{Method: "GET", Path: "/api/v1/limits/:id/usage"}: {want: operatorsOnly(200), target: aLimit},
	{Method: "POST", Path: "/api/v1/blocklist"}:       {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/blocklist"}:        {want: operatorsOnly(200)},
	{Method: "GET", Path: "/api/v1/blocklist/:id"}:    {want: operatorsOnly(200), target: aBlock},
	{Method: "DELETE", Path: "/api/v1/blocklist/:id"}: {want: operatorsOnly(200), target: aBlock},

	{Method: "POST", Path: "/api/v1/backups"}: {want: operatorsOnly(200), body: "{}"},

	{Method: "GET", Path: "/api/v1/deliveries"}:                  {want: operatorsOnly(200)},
	{Method: "POST", Path: "/api/v1/deliveries/replay"}:          {want: operatorsOnly(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/deliveries/:id"}:              {want: operatorsOnly(200), target: aDelivery},
	{Method: "POST", Path: "/api/v1/deliveries/:id/replay"}:      {want: operatorsOnly(200), target: aDelivery},
	{Method: "POST", Path: "/api/v1/terminal/:id/test-delivery"}: {want: operatorsOnly(422), target: aTerminal}, // the terminal has no address for notifications

	// Without the malformed parameter the response would not end.
	{Method: "GET", Path: "/api/v1/notifications/stream"}: {want: operatorsOnly(422), query: "?stream_id=none"},

	{Method: "POST", Path: "/api/v1/sessions"}:           {want: anyone(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/sessions/current"}:    {want: sessionsOnly(200)},
	{Method: "DELETE", Path: "/api/v1/sessions/current"}: {want: sessionsOnly(204), isLast: true},
	{Method: "GET", Path: "/api/v1/sessions"}:            {want: sessionsOnly(200)},
	{Method: "GET", Path: "/api/v1/users/current"}:       {want: sessionsOnly(200)},
	{Method: "PATCH", Path: "/api/v1/users/current"}:     {want: sessionsOnly(200), body: "{}"},
	{Method: "GET", Path: "/api/v1/logins"}:              {want: operatorsOnly(200)},
	{Method: "DELETE", Path: "/api/v1/sessions"}:         {want: sessionsOnly(200)},
	{Method: "DELETE", Path: "/api/v1/sessions/:id"}:     {want: sessionsOnly(404), target: noSession},
	{Method: "POST", Path: "/api/v1/admin_tokens/rotate"}: {
		want: operatorsOnly(201), isLast: true,
		onSuccess: func(f *accessFixture, r *response) { f.seed.AdminToken = secret.Text(r.at("data.token")) },
	},

	{Method: "GET", Path: "/api/v1/ledger/accounts"}:       {want: ledgerReaders(200)},
	{Method: "GET", Path: "/api/v1/ledger/accounts/:path"}: {want: ledgerReaders(200), target: anAccount, query: "?currency=USD&env=test"},
	{Method: "GET", Path: "/api/v1/ledger/accounts/:path/postings"}: {
		want: ledgerReaders(200), target: anAccount, query: "?currency=USD&env=test",
	},
	{Method: "GET", Path: "/api/v1/ledger/trial-balance"}:         {want: ledgerReaders(200)},
	{Method: "GET", Path: "/api/v1/ledger/totals"}:                {want: adminsAndAuditors(200)},
	{Method: "GET", Path: "/api/v1/ledger/entries"}:               {want: ledgerReaders(200)},
	{Method: "GET", Path: "/api/v1/ledger/entries/:seq"}:          {want: ledgerReaders(200), target: anEntry},
	{Method: "GET", Path: "/api/v1/ledger/events/:seq"}:           {want: ledgerReaders(200), target: anEntry},
	{Method: "GET", Path: "/api/v1/ledger/events"}:                {want: ledgerReaders(200)},
	{Method: "GET", Path: "/api/v1/ledger/periods"}:               {want: adminsAndAuditors(200)},
	{Method: "POST", Path: "/api/v1/ledger/periods/:month/close"}: {want: adminsOnly(409), target: aMonth, wantUnknown: 409}, // the month has not ended
	{Method: "GET", Path: "/api/v1/ledger/head"}:                  {want: adminsAndAuditors(200)},
	{Method: "GET", Path: "/api/v1/ledger/export"}:                {want: adminsAndAuditors(200), query: "?format=csv"},
	{Method: "GET", Path: "/api/v1/ledger/check"}:                 {want: adminsAndAuditors(200)},
	{Method: "GET", Path: "/api/v1/ledger/key"}:                   {want: adminsAndAuditors(200)},

	{Method: "GET", Path: "/api/v1/ledger/proofs/inclusion"}:   {want: adminsAndAuditors(200), query: "?seq=1"},
	{Method: "GET", Path: "/api/v1/ledger/proofs/consistency"}: {want: adminsAndAuditors(200), query: "?from=1"},

	{Method: "POST", Path: "/api/v1/links"}:          {want: keysAndOperators(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/links"}:           {want: storefrontReaders(200).with(422, operators...)}, // operators must name a partner
	{Method: "GET", Path: "/api/v1/links/:id"}:       {want: storefrontReaders(200), target: aLink},
	{Method: "PATCH", Path: "/api/v1/links/:id"}:     {want: keysAndOperators(200), target: aLink, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/links/:id"}:    {want: keysAndOperators(204), target: aLink},
	{Method: "POST", Path: "/api/v1/products"}:       {want: keysAndOperators(422), body: "{}"},
	{Method: "GET", Path: "/api/v1/products"}:        {want: storefrontReaders(200).with(422, operators...)},
	{Method: "GET", Path: "/api/v1/products/:id"}:    {want: storefrontReaders(200), target: aProduct},
	{Method: "PATCH", Path: "/api/v1/products/:id"}:  {want: keysAndOperators(200), target: aProduct, body: "{}"},
	{Method: "DELETE", Path: "/api/v1/products/:id"}: {want: keysAndOperators(204), target: aProduct},
	{Method: "POST", Path: "/api/v1/images"}:         {want: keysAndOperators(415), body: "{}"}, // a file is sent as multipart/form-data

	// Anybody opens a public page. The form lacks the amount.
	{Method: "GET", Path: "/pay/l/:id"}:        {want: anyone(200).with(410, byInactivePartner), target: aPublicLink},
	{Method: "POST", Path: "/pay/l/:id"}:       {want: anyone(422).with(410, byInactivePartner), target: aPublicLink},
	{Method: "GET", Path: "/pay/l/:id/qr.svg"}: {want: anyone(200), target: aPublicLink},
	{Method: "GET", Path: "/pay/l/:id/qr.png"}: {want: anyone(200), target: aPublicLink},
	{Method: "GET", Path: "/pay/p/:id"}:        {want: anyone(200).with(410, byInactivePartner), target: aPublicProduct},
	{Method: "POST", Path: "/pay/p/:id"}:       {want: anyone(422).with(410, byInactivePartner), target: aPublicProduct},
	{Method: "GET", Path: "/pay/p/:id/qr.svg"}: {want: anyone(200), target: aPublicProduct},
	{Method: "GET", Path: "/pay/p/:id/qr.png"}: {want: anyone(200), target: aPublicProduct},
	{Method: "GET", Path: "/images/:name"}:     {want: anyone(200), target: anImage},

	// A payer's page opens only with its token.
	{Method: "GET", Path: "/pay/:id"}:              {want: anyone(404), target: aTransaction},
	{Method: "POST", Path: "/pay/:id"}:             {want: anyone(404), target: aTransaction},
	{Method: "GET", Path: "/favicon.ico"}:          {want: anyone(200)},
	{Method: "GET", Path: "/pay/*"}:                {want: anyone(404)},
	{Method: "GET", Path: "/pay/:id/receipt"}:      {want: anyone(404), target: aTransaction},
	{Method: "GET", Path: "/pay/:id/return"}:       {want: anyone(404), target: aTransaction},
	{Method: "POST", Path: "/pay/:id/return"}:      {want: anyone(404), target: aTransaction},
	{Method: "GET", Path: "/simulator/challenge"}:  {want: anyone(404)},
	{Method: "POST", Path: "/simulator/challenge"}: {want: anyone(404)},

	{Method: "GET", Path: "/api/v1/sandbox/clock"}: {want: operatorsOnly(200)},
	{Method: "PUT", Path: "/api/v1/sandbox/clock"}: {want: operatorsOnly(422), body: "{}"},
}

// wantStatuses returns the expected status for a record of the caller's own, and for a foreign or unknown record.
func (r *row) wantStatuses(k kind) (ownStatus, otherStatus int) {
	ownStatus, known := r.want[k]
	switch {
	case !known:
		return 401, 401
	case ownStatus == 401 || ownStatus == 403:
		return ownStatus, ownStatus
	case r.wantUnknown != 0:
		return ownStatus, r.wantUnknown
	}
	return ownStatus, 404
}

// request makes the route's request as a caller of the kind. The id replaces the parameter in the route's path.
func (f *accessFixture) request(name api.RouteName, r *row, k kind, id string) *response {
	f.t.Helper()
	return f.callerOf(k).do(name.Method, withParameter(name.Path, id)+r.query, r.body)
}

func TestEveryRouteHasARowAndIsServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.ProviderUpdates = ignoredUpdates{} })
	table := f.server.Routes()
	for _, r := range table {
		expected, found := matrix[r]
		if !found {
			t.Errorf("%s %s has no row in the matrix: say which callers it allows, and which response the others get", r.Method, r.Path)
		} else if strings.Contains(r.Path, ":") != (expected.target != nil) {
			t.Errorf("%s %s: its row does not say what its parameter names", r.Method, r.Path)
		}
	}
	for r := range matrix {
		if !slices.Contains(table, r) {
			t.Errorf("%s %s has a row but is no route", r.Method, r.Path)
		}
	}
	// The router serves exactly the routes in the table.
	for _, r := range f.server.ServedRoutes() {
		if r.Method == "HEAD" {
			r.Method = "GET"
		}
		if !slices.Contains(table, r) && !slices.Contains(f.server.ConsoleRoutes(), r) {
			t.Errorf("the router serves %s %s", r.Method, r.Path)
		}
	}
}

// TestEveryRouteForEveryCaller makes each kind of caller request every route for its own
// records. A refused request must change nothing.
func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	for _, isLast := range []bool{false, true} {
		for _, name := range f.server.Routes() {
			if r := matrix[name]; r.isLast == isLast {
				f.checkEveryCaller(name, &r)
			}
		}
	}
}

// For each operation, the API's description lists exactly the callers whom the route admits.
func TestDescribedCallersAreThoseOfTheMatrix(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.ProviderUpdates = ignoredUpdates{} })
	roles := map[kind]string{asAdmin: "admin", asClient: "client", asAuditor: "auditor", asPartner: "partner"}
	document := f.server.Document()
	for i := range document.DescribedOperations {
		o := &document.DescribedOperations[i]
		r, found := matrix[api.RouteName{Method: o.Method, Path: o.RouteOf()}]
		if !found {
			t.Errorf("%s has no row in the matrix", o.ID)
			continue
		}
		for _, k := range []kind{nobody, byKey, byAdmin, asAdmin, asClient, asAuditor, asPartner} {
			isDescribed := len(o.Callers) == 0 || slices.ContainsFunc(o.Callers, func(c description.Caller) bool {
				switch c.Kind {
				case description.PartnerKey:
					return k == byKey
				case description.AdminToken:
					return k == byAdmin
				}
				return slices.Contains(c.Roles, roles[k])
			})
			status, _ := r.wantStatuses(k)
			if isAdmitted := status != 401 && status != 403; isAdmitted != isDescribed && len(r.want) > 0 {
				t.Errorf("%s as %s: admitted %t, described %t", o.ID, k, isAdmitted, isDescribed)
			}
		}
	}
}

// checkEveryCaller makes the refused kinds of callers request the route first, and then the admitted ones.
func (f *accessFixture) checkEveryCaller(name api.RouteName, r *row) {
	ids := map[kind]string{}
	for _, k := range kinds {
		if owner, _ := f.ownerOf(k); r.target != nil {
			ids[k] = f.id(r.target, owner)
		}
	}
	check := func(k kind, want int) *response {
		response := f.request(name, r, k, ids[k])
		if response.status != want || want == 401 && response.body != unauthorized {
			f.t.Errorf("%s %s as %s: %d %s, want %d", name.Method, name.Path, k, response.status, response.body, want)
		}
		return response
	}
	before := f.storedCounts()
	for _, k := range kinds {
		if want, _ := r.wantStatuses(k); want >= 400 {
			check(k, want)
		}
	}
	if after := f.storedCounts(); after != before {
		f.t.Errorf("%s %s stored something for who was refused: %+v, before %+v", name.Method, name.Path, after, before)
	}
	for _, k := range kinds {
		if want, _ := r.wantStatuses(k); want < 400 {
			if response := check(k, want); r.onSuccess != nil && response.status == want {
				r.onSuccess(f, response)
			}
		}
	}
}

// TestForeignIDsEqualUnknownIDs makes each kind of caller request the records of other
// partners and organizations. The responses must equal those for an unknown id, byte for byte,
// and nothing may change.
func TestForeignIDsEqualUnknownIDs(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	hiddenRecords := 0
	for _, name := range f.server.Routes() {
		r := matrix[name]
		if r.target == nil {
			continue
		}
		for _, owner := range []*recordOwner{f.first, f.neighbour, f.second} {
			f.id(r.target, owner)
		}
		before := f.storedCounts()
		for _, k := range kinds {
			hiddenRecords += f.checkForeign(name, &r, k)
		}
		if after := f.storedCounts(); after != before {
			t.Errorf("%s %s stored something: %+v, before %+v", name.Method, name.Path, after, before)
		}
	}
	if hiddenRecords < 150 {
		t.Errorf("only %d responses hid something: is the matrix asking at all?", hiddenRecords)
	}
}

// checkForeign requests an unknown record, and then all records that the caller may not see. It returns how many of them were
// hidden.
func (f *accessFixture) checkForeign(name api.RouteName, r *row, k kind) (hiddenRecords int) {
	_, status := r.wantStatuses(k)
	want := f.request(name, r, k, r.target.unknownID)
	if want.status != status {
		f.t.Errorf("%s %s as %s: an id that nobody has: %d %s, want %d", name.Method, name.Path, k, want.status, want.body, status)
	}
	for _, other := range f.foreignOwners(k, r.target) {
		got := f.request(name, r, k, f.id(r.target, other))
		if got.status != want.status || got.body != want.body || sameHeaders(got) != sameHeaders(want) {
			f.t.Errorf("%s %s as %s: partner %s's: %d %s, one that nobody has: %d %s",
				name.Method, name.Path, k, other.partner, got.status, got.body, want.status, want.body)
		}
		if status == 404 {
			hiddenRecords++
		}
	}
	return hiddenRecords
}
