package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/api"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// kind is a kind of caller in the matrix of routes and callers (matrix_test.go).
type kind string

const (
	nobody kind = "nobody"

	byKey             kind = "partner's key"
	byNeighbour       kind = "key of another partner of the organization"
	byForeignKey      kind = "partner's key of another organization"
	byMisplacedKey    kind = "partner's key of another organization, naming the first organization"
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
	asMisplaced      kind = "another organization's session, naming the first organization"
)

// These are groups of callers that get the same status from most routes.
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

// recordOwner is an owner of records: a partner in an organization.
type recordOwner struct {
	org     ledger.ID
	partner string // the partner's number
	key     string // an API key of the partner
}

// accessFixture is a server with several partners and a caller of each kind.
type accessFixture struct {
	*fixture
	first, neighbour, inactive, second *recordOwner
	sessions                           map[kind]string   // tokens of sessions
	recordIDs                          map[string]string // ids of the records that were created, with keys such as "limit of 1"
}

// newAccessFixture starts a server and creates the callers. The clock stands still, so afterwards only the tests' requests change
// anything.
func newAccessFixture(t *testing.T, change ...func(*api.Config)) *accessFixture {
	t.Helper()
	f := &accessFixture{fixture: newFixture(t, append(change, func(cfg *api.Config) { cfg.ProviderUpdates = ignoredUpdates{} })...), sessions: map[kind]string{}, recordIDs: map[string]string{}}
	f.first = &recordOwner{org: f.seed.First.Org, partner: fmt.Sprint(f.seed.First.Partner), key: string(f.seed.First.APIKey)}
	f.second = &recordOwner{org: f.seed.Second.Org, partner: fmt.Sprint(f.seed.Second.Partner), key: string(f.seed.Second.APIKey)}
	f.neighbour, f.inactive = f.addPartner("beside"), f.addPartner("off")
	f.setActive(f.inactive, false)
	f.enableContracts(f.second)
	for k, owner := range map[kind]*recordOwner{asAdmin: f.first, asForeignAdmin: f.second} {
		f.sessions[k] = f.logIn(owner, directory.Admin)
	}
	for k, owner := range map[kind]*recordOwner{asAuditor: f.first, asForeignAuditor: f.second} {
		f.sessions[k] = f.logIn(owner, directory.Auditor)
	}
	for k, owner := range map[kind]*recordOwner{asClient: f.first, asForeignClient: f.second} {
		f.sessions[k] = f.logIn(owner, directory.Client)
	}
	for k, owner := range map[kind]*recordOwner{asPartner: f.first, asForeignPartner: f.second} {
		f.sessions[k] = f.logIn(owner, directory.PartnerRole)
	}
	f.sessions[asMisplaced] = f.sessions[asForeignAdmin]
	return f
}

// ignoredUpdates accepts provider updates. No request of these tests is signed, so no update gets here.
type ignoredUpdates struct{}

// ProviderUpdate implements payments.ProviderUpdates.
func (ignoredUpdates) ProviderUpdate(_, _, _ ledger.ID) error { return nil }

// ProviderNotification implements payments.ProviderUpdates.
func (ignoredUpdates) ProviderNotification(*directory.Terminal, *actors.Notification, func(string) bool) (string, error) {
	return "", nil
}

// operator returns a caller with the administration token, for an organization.
func (f *accessFixture) operator(org ledger.ID) caller {
	return f.bearer(string(f.seed.AdminToken), org)
}

// addPartner creates another partner of the first organization, with a terminal and an API key.
func (f *accessFixture) addPartner(login string) *recordOwner {
	owner := &recordOwner{org: f.first.org}
	owner.partner = f.admin().post("/api/v1/partners", `{"name":"N","login":"`+login+`","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	owner.key = f.admin().post("/api/v1/api_keys", `{"name":"n","partner_id":`+owner.partner+`}`).want(201, "").at("key")
	f.admin().post("/api/v1/terminal", `{"name":"n","provider":"simulator","type":"payment","env":"test","partner_id":`+owner.partner+`}`).want(201, "")
	return owner
}

func (f *accessFixture) setActive(owner *recordOwner, active bool) {
	f.operator(owner.org).patch("/api/v1/partners/"+owner.partner, fmt.Sprintf(`{"active":%t}`, active)).want(200, "")
}

// logIn creates a user with the role, logs in, and returns the session's token.
func (f *accessFixture) logIn(owner *recordOwner, role directory.Role) string {
	const pass = "correct-horse-battery-9"
	partnerField := ""
	if role == directory.PartnerRole {
		partnerField = `,"partner_id":` + owner.partner
	}
	login := "user-" + string(role)
	f.operator(owner.org).post("/api/v1/users", fmt.Sprintf(`{"login":%q,"name":"U","pass":%q,"roles":[%q]%s}`, login, pass, role, partnerField)).want(201, "")
	return f.anyone().with("x-organization-id", owner.org.String()).
		post("/api/v1/sessions", fmt.Sprintf(`{"login":%q,"pass":%q}`, login, pass)).want(201, "").at("data.token")
}

// ownerOf returns the owner whose records the caller may see. wholeOrganization tells whether the
// caller may see all other records of the owner's organization too.
func (f *accessFixture) ownerOf(k kind) (owner *recordOwner, wholeOrganization bool) {
	switch k {
	case byNeighbour, asNeighbour:
		return f.neighbour, false
	case byInactivePartner:
		return f.inactive, false
	case byForeignKey, asForeignPartner:
		return f.second, false
	case byAdminElsewhere, asForeignOperator, asForeignAdmin, asForeignAuditor, asForeignClient:
		return f.second, true
	case byKey, asPartner:
		return f.first, false
	}
	return f.first, true
}

// callerOf returns a caller of the kind, with the kind's credentials.
func (f *accessFixture) callerOf(k kind) caller {
	owner, _ := f.ownerOf(k)
	switch k {
	case nobody:
		return f.anyone()
	case byMisplacedKey:
		return f.anyone().with("x-api-key", f.second.key, "x-organization-id", f.first.org.String())
	case byKey, byNeighbour, byForeignKey, byInactivePartner:
		return f.anyone().with("x-api-key", owner.key, "x-organization-id", owner.org.String())
	case byAdmin, byAdminElsewhere:
		return f.operator(owner.org)
	}
	return f.bearer(f.sessions[k], owner.org)
}

// target is a kind of record that the parameter in a route's path names by its id.
type target struct {
	name      string
	make      func(f *accessFixture, owner *recordOwner) string // creates the owner's record and returns its id
	unknownID string                                            // has the form of an id, but no record has it

	// A record belongs to a partner by default. If shared is set, it belongs to the organization, whose
	// partners share it. If belongsToNobody is set, it has no owner. If hasNumber is set, its id is a
	// number within the organization, and other organizations have a record with the same number.
	shared, belongsToNobody, hasNumber bool
}

// id returns the id of the owner's record. The first call creates the record.
func (f *accessFixture) id(x *target, owner *recordOwner) string {
	name := x.name + " of " + owner.partner
	if f.recordIDs[name] == "" {
		if owner == f.inactive { // a partner that is switched off can't create records
			f.setActive(owner, true)
			defer f.setActive(owner, false)
		}
		f.recordIDs[name] = x.make(f, owner)
	}
	return f.recordIDs[name]
}

// foreignOwners returns the owners whose records the caller may not see.
func (f *accessFixture) foreignOwners(k kind, x *target) (owners []*recordOwner) {
	owner, wholeOrganization := f.ownerOf(k)
	for _, other := range []*recordOwner{f.first, f.neighbour, f.second} {
		sameOrganization := other.org == owner.org
		switch {
		case other == owner, x.belongsToNobody, sameOrganization && (wholeOrganization || x.shared), !sameOrganization && x.hasNumber:
		default:
			owners = append(owners, other)
		}
	}
	return owners
}

// operatorCreate returns a function that creates a record for an owner. It posts body to the URL path as an operator, and returns
// the id that it finds at idPath in the response.
func operatorCreate(path, idPath, body string) func(*accessFixture, *recordOwner) string {
	return func(f *accessFixture, owner *recordOwner) string {
		body := strings.NewReplacer("PARTNER", owner.partner, "ONCE", uuid.NewString()).Replace(body)
		return f.operator(owner.org).post("/api/v1"+path, body).want(201, "").at(idPath)
	}
}

// The kinds of records that the paths of routes name.
var (
	aTransaction = &target{name: "transaction", unknownID: uuid.NewString(), make: func(f *accessFixture, owner *recordOwner) string {
		return f.anyone().with("x-api-key", owner.key, "x-organization-id", owner.org.String()).
			post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
	}}
	// The subscription is cancelled, so every action on it is a conflict.
	aSubscription = &target{name: "subscription", unknownID: uuid.NewString(), make: func(f *accessFixture, owner *recordOwner) string {
		c := f.anyone().with("x-api-key", owner.key, "x-organization-id", owner.org.String())
		initial := c.post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
		id := c.post(subscriptions, `{"params":{"initial_payment_id":"`+initial+`","amount":"1","period_days":30}}`).want(201, "").at("data.id")
		c.post(subscriptions+"/"+id+"/cancel", "").want(200, "")
		return id
	}}
	anAccount = &target{name: "account", unknownID: "L:partner:999:available", make: func(_ *accessFixture, owner *recordOwner) string {
		return "L:partner:" + owner.partner + ":available"
	}}
	anEntry = &target{name: "entry", unknownID: "999999", hasNumber: true, make: func(f *accessFixture, owner *recordOwner) string {
		auditor, id := f.callerOf(asAuditor), f.id(aTransaction, owner)
		if owner == f.second {
			auditor = f.callerOf(asForeignAuditor)
		}
		return auditor.get("/api/v1/ledger/entries?env=test&source="+id).want(200, "").at("data.0.seq")
	}}
	aReferencePage = &target{name: "page of the reference", unknownID: "nothing", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return "transactions" }}
	anOrganization = &target{name: "organization", unknownID: uuid.NewString(), belongsToNobody: true, make: func(_ *accessFixture, owner *recordOwner) string {
		return owner.org.String()
	}}
	aPartner = &target{name: "partner", unknownID: "999999", shared: true, make: func(_ *accessFixture, owner *recordOwner) string { return owner.partner }}

	// The test switches off this partner by DELETE, so no caller uses it.
	aSparePartner = &target{name: "spare partner", unknownID: "999999", shared: true, make: operatorCreate("/partners", "id", `{"name":"S","login":"ONCE","pass":"nine-Lions-paint"}`)}
	aTerminal     = &target{name: "terminal", unknownID: uuid.NewString(), shared: true, make: operatorCreate("/terminal", "data.id",
		`{"name":"S","provider":"simulator","type":"payout","env":"test","partner_id":PARTNER}`)}
	aKey  = &target{name: "key", unknownID: uuid.NewString(), shared: true, make: operatorCreate("/api_keys", "id", `{"name":"S","partner_id":PARTNER}`)}
	aNode = &target{name: "node", unknownID: "n9", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return "n2" }}
	aRate = &target{name: "rate", unknownID: uuid.NewString(), shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		return f.operator(owner.org).do("PUT", "/api/v1/rates", `{"from":"USD","to":"EUR","rate":"0.92"}`).want(200, "").at("data.id")
	}}
	aUser  = &target{name: "user", unknownID: uuid.NewString(), shared: true, make: operatorCreate("/users", "data.id", `{"login":"ONCE","name":"S","pass":"correct-horse-battery-9","roles":["auditor"]}`)}
	aLimit = &target{name: "limit", unknownID: uuid.NewString(), shared: true, make: operatorCreate("/limits", "data.id",
		`{"partner_id":PARTNER,"kind":"velocity","max_count":100000,"window":"minute","env":"test","active":false}`)}
	// This delivery fails, because nothing listens at the address to which it is sent.
	aDelivery = &target{name: "delivery", unknownID: uuid.NewString(), shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		f.directory.AllowPrivateAddresses(true)
		f.operator(owner.org).patch("/api/v1/partners/"+owner.partner, `{"notify_url":"http://127.0.0.1:9/hook"}`).want(200, "")
		transactionID := aTransaction.make(f, owner)
		f.operator(owner.org).patch("/api/v1/partners/"+owner.partner, `{"notify_url":null}`).want(200, "")
		return f.operator(owner.org).get("/api/v1/deliveries?transaction_id="+transactionID).want(200, "").at("data.0.event_id")
	}}
	noSession   = &target{name: "session", unknownID: uuid.NewString(), belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return uuid.NewString() }}
	aBlock      = &target{name: "entry of the blocklist", unknownID: uuid.NewString(), shared: true, make: operatorCreate("/blocklist", "data.id", `{"kind":"email","value":"ONCE@example.com"}`)}
	aSettlement = &target{name: "settlement", unknownID: uuid.NewString(), shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		return operatorCreate("/partners/"+owner.partner+"/settlements", "data.id", `{"direction":"in","amount":"1","currency":"USD","env":"test","reference":"ONCE"}`)(f, owner)
	}}
)

// The kinds of records of the storefront. Records with a public page belong to nobody, because anybody may see them.
var (
	aLink          = &target{name: "link", unknownID: uuid.NewString(), make: operatorCreate("/links", "data.id", linkOfPartner)}
	aProduct       = &target{name: "product", unknownID: uuid.NewString(), make: operatorCreate("/products", "data.id", productOfPartner)}
	aPublicLink    = &target{name: "public link", unknownID: uuid.NewString(), belongsToNobody: true, make: operatorCreate("/links", "data.id", linkOfPartner)}
	aPublicProduct = &target{name: "public product", unknownID: uuid.NewString(), belongsToNobody: true, make: operatorCreate("/products", "data.id", productOfPartner)}
	anImage        = &target{name: "image", unknownID: strings.Repeat("0", 32) + ".png", belongsToNobody: true, make: func(f *accessFixture, owner *recordOwner) string {
		url := f.operator(owner.org).upload(grayPNG(f.t, 3, 2)).want(201, "").at("data.url")
		return url[strings.LastIndexByte(url, '/')+1:]
	}}
)

const (
	linkOfPartner    = `{"partner_id":PARTNER,"env":"test","amount":{"default":5,"currency":"USD"},"amount_type":"dynamic","pay_config":{}}`
	productOfPartner = `{"partner_id":PARTNER,"env":"test","header":"Tea","text":"Green"}`
)

// storedCounts has the number of stored rows of each kind. It does not count the events that record the use of an API key,
// because these are stored in the background.
type storedCounts struct{ organizations, events, claims, lists, pageBuffers, sealedRows, counters int }

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
		for rowKind, n := range map[posting.RowKind]*int{posting.Claims: &s.claims, posting.Lists: &s.lists, posting.PageBuffers: &s.pageBuffers, posting.SealedRows: &s.sealedRows, posting.Counters: &s.counters} {
			must(f.t, v.Rows(org, rowKind, func(_, _ []byte) (bool, error) { *n++; return true, nil }))
		}
		return true, nil
	}))
	return s
}
