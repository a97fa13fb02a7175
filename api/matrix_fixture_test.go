package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// kind is a kind of caller in the matrix.
type kind string

const (
	nobody kind = "nobody"

	byKey             kind = "partner's key"
	byNeighbour       kind = "key of another partner of the organization"
	byForeignKey      kind = "partner's key of another organization"
	byMisplacedKey    kind = "that key, naming the first organization"
	byInactivePartner kind = "key of a partner that is switched off"

	byAdmin          kind = "admin token"
	byAdminElsewhere kind = "admin token, naming another organization"

	asAdmin   kind = "session of role admin"
	asClient  kind = "session of role client"
	asAuditor kind = "session of role auditor"
	asPartner kind = "session of role partner"

	asForeignAdmin   kind = "another organization's session of role admin"
	asForeignClient  kind = "another organization's session of role client"
	asForeignAuditor kind = "another organization's session of role auditor"
	asForeignPartner kind = "another organization's session of role partner"
	asMisplaced      kind = "another organization's session, naming the first"
)

// Groups of callers that get the same status from most routes.
var (
	partnerKeys     = []kind{byKey, byNeighbour, byForeignKey}
	operators       = []kind{byAdmin, byAdminElsewhere}
	admins          = []kind{asAdmin, asForeignAdmin}
	auditors        = []kind{asAuditor, asForeignAuditor}
	clientSessions  = []kind{asClient, asForeignClient}
	partnerSessions = []kind{asPartner, asForeignPartner}
	unauthenticated = []kind{nobody, byMisplacedKey, asMisplaced}

	kinds = join(unauthenticated, partnerKeys, []kind{byInactivePartner}, operators, admins, auditors, clientSessions, partnerSessions)
)

func join(groups ...[]kind) (kinds []kind) {
	for _, group := range groups {
		kinds = append(kinds, group...)
	}
	return kinds
}

// place is the owner of records: a partner in an organization.
type place struct {
	org     ledger.ID
	partner string // the partner's number
	key     string
}

// accessFixture is a server with several partners and a caller of each kind.
type accessFixture struct {
	*fixture
	first, neighbour, inactive, second *place
	sessions                           map[kind]string // tokens of sessions
	made                               map[string]string
}

// newAccessFixture starts a server and creates the records. Afterwards only the matrix's
// requests change anything, because the clock stands still.
func newAccessFixture(t *testing.T) *accessFixture {
	t.Helper()
	f := &accessFixture{fixture: newFixture(t, func(cfg *api.Config) { cfg.Updates = ignoredUpdates{} }), sessions: map[kind]string{}, made: map[string]string{}}
	f.first = &place{org: f.seed.First.Org, partner: fmt.Sprint(f.seed.First.Partner), key: string(f.seed.First.APIKey)}
	f.second = &place{org: f.seed.Second.Org, partner: fmt.Sprint(f.seed.Second.Partner), key: string(f.seed.Second.APIKey)}
	f.neighbour, f.inactive = f.addPartner("beside"), f.addPartner("off")
	f.setActive(f.inactive, false)
	f.createContracts(f.second)
	for k, at := range map[kind]*place{asAdmin: f.first, asForeignAdmin: f.second} {
		f.sessions[k] = f.logIn(at, directory.Admin)
	}
	for k, at := range map[kind]*place{asAuditor: f.first, asForeignAuditor: f.second} {
		f.sessions[k] = f.logIn(at, directory.Auditor)
	}
	for k, at := range map[kind]*place{asClient: f.first, asForeignClient: f.second} {
		f.sessions[k] = f.logIn(at, directory.Client)
	}
	for k, at := range map[kind]*place{asPartner: f.first, asForeignPartner: f.second} {
		f.sessions[k] = f.logIn(at, directory.PartnerRole)
	}
	f.sessions[asMisplaced] = f.sessions[asForeignAdmin]
	return f
}

// ignoredUpdates accepts provider updates; none is signed here.
type ignoredUpdates struct{}

// ProviderUpdate implements payments.Updates.
func (ignoredUpdates) ProviderUpdate(_, _, _ ledger.ID) error { return nil }

// operator returns a caller with the admin token, for an organization.
func (f *accessFixture) operator(org ledger.ID) caller {
	return f.bearer(string(f.seed.AdminToken), org)
}

// addPartner creates another partner of the first organization, with a terminal and a key.
func (f *accessFixture) addPartner(login string) *place {
	at := &place{org: f.first.org}
	at.partner = f.admin().post("/api/v1/partners", `{"name":"N","login":"`+login+`","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	at.key = f.admin().post("/api/v1/api_keys", `{"name":"n","partner_id":`+at.partner+`}`).want(201, "").at("key")
	f.admin().post("/api/v1/terminal", `{"name":"n","provider":"simulator","type":"payment","env":"test","partner_id":`+at.partner+`}`).want(201, "")
	return at
}

func (f *accessFixture) setActive(at *place, active bool) {
	f.operator(at.org).patch("/api/v1/partners/"+at.partner, fmt.Sprintf(`{"active":%t}`, active)).want(200, "")
}

// logIn creates a user with the role and returns the token of a session.
func (f *accessFixture) logIn(at *place, role directory.Role) string {
	const pass = "correct-horse-battery-9"
	acts := ""
	if role == directory.PartnerRole {
		acts = `,"partner_id":` + at.partner
	}
	login := "user-" + string(role)
	f.operator(at.org).post("/api/v1/users", fmt.Sprintf(`{"login":%q,"name":"U","pass":%q,"roles":[%q]%s}`, login, pass, role, acts)).want(201, "")
	return f.anyone().with("x-organization-id", at.org.String()).
		post("/api/v1/sessions", fmt.Sprintf(`{"login":%q,"pass":%q}`, login, pass)).want(201, "").at("data.token")
}

// placeOf returns the place whose records the caller may see; wholeOrganization tells whether the
// caller may see all records of its organization.
func (f *accessFixture) placeOf(k kind) (at *place, wholeOrganization bool) {
	switch k {
	case byNeighbour:
		return f.neighbour, false
	case byInactivePartner:
		return f.inactive, false
	case byForeignKey, asForeignPartner:
		return f.second, false
	case byAdminElsewhere, asForeignAdmin, asForeignAuditor, asForeignClient:
		return f.second, true
	case byKey, asPartner:
		return f.first, false
	}
	return f.first, true
}

// callerOf returns a caller of the kind.
func (f *accessFixture) callerOf(k kind) caller {
	at, _ := f.placeOf(k)
	switch k {
	case nobody:
		return f.anyone()
	case byMisplacedKey:
		return f.anyone().with("x-api-key", f.second.key, "x-organization-id", f.first.org.String())
	case byKey, byNeighbour, byForeignKey, byInactivePartner:
		return f.anyone().with("x-api-key", at.key, "x-organization-id", at.org.String())
	case byAdmin, byAdminElsewhere:
		return f.operator(at.org)
	}
	return f.bearer(f.sessions[k], at.org)
}

// target is a kind of record that a path's parameter names.
type target struct {
	name      string
	make      func(f *accessFixture, at *place) string
	unknownID string // an unknown id of the same kind

	// A record belongs to a partner by default. If shared is set, it belongs to the organization, whose
	// partners share it. If belongsToNobody is set, it has no owner. If numbered is set, its id is a
	// number within the organization, and other organizations have a record with the same number.
	shared, belongsToNobody, numbered bool
}

// id returns the id of the place's record, which is created at the first call.
func (f *accessFixture) id(x *target, at *place) string {
	index := x.name + " of " + at.partner
	if f.made[index] == "" {
		if at == f.inactive { // while it is switched off it can't create records
			f.setActive(at, true)
			defer f.setActive(at, false)
		}
		f.made[index] = x.make(f, at)
	}
	return f.made[index]
}

// foreignPlaces returns the places whose records are foreign to the caller.
func (f *accessFixture) foreignPlaces(k kind, x *target) (places []*place) {
	at, wholeOrganization := f.placeOf(k)
	for _, other := range []*place{f.first, f.neighbour, f.second} {
		sameOrganization := other.org == at.org
		switch {
		case other == at, x.belongsToNobody, sameOrganization && (wholeOrganization || x.shared), !sameOrganization && x.numbered:
		default:
			places = append(places, other)
		}
	}
	return places
}

// createdBy returns a function that creates a record as an operator and returns the id in the
// response.
func createdBy(path, id, body string) func(*accessFixture, *place) string {
	return func(f *accessFixture, at *place) string {
		body := strings.NewReplacer("PARTNER", at.partner, "ONCE", uuid.NewString()).Replace(body)
		return f.operator(at.org).post("/api/v1"+path, body).want(201, "").at(id)
	}
}

// The records that paths name.
var (
	aTransaction = &target{name: "transaction", unknownID: uuid.NewString(), make: func(f *accessFixture, at *place) string {
		return f.anyone().with("x-api-key", at.key, "x-organization-id", at.org.String()).
			post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
	}}
	// It is cancelled, so that every action on it is a conflict.
	aSubscription = &target{name: "subscription", unknownID: uuid.NewString(), make: func(f *accessFixture, at *place) string {
		c := f.anyone().with("x-api-key", at.key, "x-organization-id", at.org.String())
		initial := c.post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
		id := c.post(subscriptions, `{"params":{"initial_payment_id":"`+initial+`","amount":"1","period_days":30}}`).want(201, "").at("data.id")
		c.post(subscriptions+"/"+id+"/cancel", "").want(200, "")
		return id
	}}
	anAccount = &target{name: "account", unknownID: "L:partner:999:available", make: func(_ *accessFixture, at *place) string {
		return "L:partner:" + at.partner + ":available"
	}}
	anEntry = &target{name: "entry", unknownID: "999999", numbered: true, make: func(f *accessFixture, at *place) string {
		auditor, id := f.callerOf(asAuditor), f.id(aTransaction, at)
		if at == f.second {
			auditor = f.callerOf(asForeignAuditor)
		}
		return auditor.get("/api/v1/ledger/entries?env=test&source="+id).want(200, "").at("data.0.seq")
	}}
	anOrganization = &target{name: "organization", unknownID: uuid.NewString(), belongsToNobody: true, make: func(_ *accessFixture, at *place) string {
		return at.org.String()
	}}
	aPartner = &target{name: "partner", unknownID: "999999", shared: true, make: func(_ *accessFixture, at *place) string { return at.partner }}

	// The partner that DELETE switches off is used by no caller.
	aSparePartner = &target{name: "spare partner", unknownID: "999999", shared: true, make: createdBy("/partners", "id", `{"name":"S","login":"ONCE","pass":"nine-Lions-paint"}`)}
	aTerminal     = &target{name: "terminal", unknownID: uuid.NewString(), shared: true, make: createdBy("/terminal", "data.id",
		`{"name":"S","provider":"simulator","type":"payout","env":"test","partner_id":PARTNER}`)}
	aKey   = &target{name: "key", unknownID: uuid.NewString(), shared: true, make: createdBy("/api_keys", "id", `{"name":"S","partner_id":PARTNER}`)}
	aUser  = &target{name: "user", unknownID: uuid.NewString(), shared: true, make: createdBy("/users", "data.id", `{"login":"ONCE","name":"S","pass":"correct-horse-battery-9","roles":["auditor"]}`)}
	aLimit = &target{name: "limit", unknownID: uuid.NewString(), shared: true, make: createdBy("/limits", "data.id",
		`{"partner_id":PARTNER,"kind":"velocity","max_count":100000,"window":"minute","env":"test","active":false}`)}
	// A delivery that fails, because nothing listens at the address.
	aDelivery = &target{name: "delivery", unknownID: uuid.NewString(), shared: true, make: func(f *accessFixture, at *place) string {
		f.directory.AllowPrivateHooks(true)
		f.operator(at.org).patch("/api/v1/partners/"+at.partner, `{"notify_url":"http://127.0.0.1:9/hook"}`).want(200, "")
		paid := aTransaction.make(f, at)
		f.operator(at.org).patch("/api/v1/partners/"+at.partner, `{"notify_url":null}`).want(200, "")
		return f.operator(at.org).get("/api/v1/deliveries?transaction_id="+paid).want(200, "").at("data.0.event_id")
	}}
	aBlock      = &target{name: "entry of the blocklist", unknownID: uuid.NewString(), shared: true, make: createdBy("/blocklist", "data.id", `{"kind":"email","value":"ONCE@example.com"}`)}
	aSettlement = &target{name: "settlement", unknownID: uuid.NewString(), shared: true, make: func(f *accessFixture, at *place) string {
		return createdBy("/partners/"+at.partner+"/settlements", "data.id", `{"direction":"in","amount":"1","currency":"USD","env":"test","reference":"ONCE"}`)(f, at)
	}}
)

// storedCounts counts what is stored. It does not count first uses of keys, which are stored in
// the background.
type storedCounts struct{ organizations, events, claims, lists, waiting, sealed, counters int }

func (f *accessFixture) storedCounts() (s storedCounts) {
	v := f.Journal.View()
	defer v.Close()
	must(f.t, v.Organizations(func(org ledger.ID) (bool, error) {
		s.organizations++
		err := v.Events(org, 0, func(e ledger.Event) (bool, error) {
			if e.Name != string(directory.Use) {
				s.events++
			}
			return true, nil
		})
		must(f.t, err)
		for section, n := range map[posting.RowKind]*int{posting.Claims: &s.claims, posting.Lists: &s.lists, posting.PageBuffers: &s.waiting, posting.SealedRows: &s.sealed, posting.Counters: &s.counters} {
			must(f.t, v.Rows(org, section, func(_, _ []byte) (bool, error) { *n++; return true, nil }))
		}
		return true, nil
	}))
	return s
}
