package api_test

import "mizan/api"

// init adds the rows of the religious reading's routes, which are the same for all product
// types. Roles that only read the ledger are not admitted.
func init() {
	mudaraba := &target{name: "mudaraba", unknownID: customerID, shared: true, make: func(f *accessFixture, at *place) string {
		return f.callerOf(f.adminOf(at)).post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "").at("data.id")
	}}
	screening := &target{name: "screening", unknownID: customerID, shared: true, make: func(f *accessFixture, at *place) string {
		return f.callerOf(f.adminOf(at)).get(religiousPath+"screen?subject=asset").want(200, "").at("data.screening_id")
	}}
	productType := &target{name: "product type", unknownID: "salam", belongsToNobody: true, make: func(*accessFixture, *place) string { return "mudaraba" }}
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
		{Method: "GET", Path: contractRoute + "/review"}:        {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: contractRoute + "/entries"}:       {want: adminsAndClients(200), target: mudaraba},
		{Method: "GET", Path: contractRoute + "/schedule.csv"}:  {want: adminsAndClients(404), target: mudaraba}, // a mudaraba has no schedule
		{Method: "GET", Path: contractRoute + "/subscriptions"}: {want: adminsAndClients(404), target: mudaraba}, // a mudaraba has no register of holders
		{Method: "GET", Path: contractRoute + "/holders"}:       {want: adminsAndClients(404), target: mudaraba},
		{Method: "POST", Path: contractRoute + "/:action"}:      {want: adminsAndClients(422), target: mudaraba}, // no action has the contract's id as its name
	} {
		matrix[name] = r
	}
}

// adminOf returns the administrator of a place's organization.
func (f *accessFixture) adminOf(at *place) kind {
	if at == f.second {
		return asForeignAdmin
	}
	return asAdmin
}
