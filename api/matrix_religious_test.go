package api_test

import "mizan/api"

// init adds to the matrix the routes of the religious contract API, which are the same for all product types. They do not admit
// the role auditor.
func init() {
	mudaraba, screening := mudarabaContract, aScreening
	productType := &target{name: "product type", unknownID: "salam", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return "mudaraba" }}
	const contractRoute = religiousPath + ":product_type/:id"
	for name, r := range map[api.RouteName]row{
		{Method: "GET", Path: religiousPath + "stats"}:          {want: adminsAndClients(200)},
		{Method: "GET", Path: religiousPath + "regions"}:        {want: adminsAndClients(200)},
		{Method: "GET", Path: religiousPath + "charity"}:        {want: adminsAndClients(200)},
		{Method: "GET", Path: religiousPath + "screen"}:         {want: adminsAndClients(200), query: "?subject=asset"},
		{Method: "GET", Path: religiousPath + "screen/:id"}:     {want: adminsAndClients(200), target: screening},
		{Method: "GET", Path: religiousPath + ":product_type"}:  {want: adminsAndClients(200), target: productType, wantUnknown: 400},
		{Method: "POST", Path: religiousPath + ":product_type"}: {want: adminsAndClients(422), target: productType, wantUnknown: 400, body: "{}"},
		{Method: "GET", Path: contractRoute}:                    {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: contractRoute + "/actions"}:       {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: contractRoute + "/review"}:        {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: religiousPath + "reviews"}:        {want: adminsAndClients(200)},
		{Method: "GET", Path: contractRoute + "/events"}:        {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: contractRoute + "/entries"}:       {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: contractRoute + "/schedule.csv"}:  {want: adminsAndClients(404), target: mudaraba}, // a mudaraba has no schedule
		{Method: "GET", Path: contractRoute + "/subscriptions"}: {want: adminsAndClients(404), target: mudaraba}, // a mudaraba has no register of holders
		{Method: "GET", Path: contractRoute + "/holders"}:       {want: adminsAndClients(404), target: mudaraba},
		{Method: "POST", Path: contractRoute + "/:action"}:      {want: adminsAndClients(422), target: mudaraba}, // the test also sends the id as :action, and no action has that name
	} {
		matrix[name] = r
	}
}

// mudarabaContract is the target for religious contracts, and aScreening the target for screenings.
var (
	mudarabaContract = &target{name: "mudaraba contract", unknownID: customerID, shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		return f.callerOf(f.adminOf(owner)).post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "").at("data.id")
	}}
	aScreening = &target{name: "screening", unknownID: customerID, shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		return f.callerOf(f.adminOf(owner)).get(religiousPath+"screen?subject=asset").want(200, "").at("data.screening_id")
	}}
)

// adminOf returns the kind of caller that has the role admin in the owner's organization.
func (f *accessFixture) adminOf(owner *recordOwner) kind {
	if owner == f.second {
		return asForeignAdmin
	}
	return asAdmin
}
