package api_test

import "mizan/api"

// init adds the rows of the religious reading's routes, which are the same for all product
// types. Roles that only read the ledger are not admitted.
func init() {
	vow := &target{name: "mudaraba", none: customerID, shared: true, make: func(f *accessFixture, at *place) string {
		return f.as(f.adminOf(at)).post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "").at("data.id")
	}}
	screening := &target{name: "screening", none: customerID, shared: true, make: func(f *accessFixture, at *place) string {
		return f.as(f.adminOf(at)).get(religiousPath+"screen?subject=asset").want(200, "").at("data.screening_id")
	}}
	productType := &target{name: "product type", none: "salam", everybodys: true, make: func(*accessFixture, *place) string { return "mudaraba" }}
	const one = religiousPath + ":product_type/:id"
	for name, r := range map[api.RouteName]row{
		{Method: "GET", Path: religiousPath + "stats"}:          {may: contractorsOnly(200)},
		{Method: "GET", Path: religiousPath + "regions"}:        {may: contractorsOnly(200)},
		{Method: "GET", Path: religiousPath + "charity"}:        {may: contractorsOnly(200)},
		{Method: "GET", Path: religiousPath + "screen"}:         {may: contractorsOnly(200), query: "?subject=asset"},
		{Method: "GET", Path: religiousPath + "screen/:id"}:     {may: contractorsOnly(200), of: screening},
		{Method: "GET", Path: religiousPath + ":product_type"}:  {may: contractorsOnly(200), of: productType, absent: 400},
		{Method: "POST", Path: religiousPath + ":product_type"}: {may: contractorsOnly(422), of: productType, absent: 400, body: "{}"},
		{Method: "GET", Path: one}:                              {may: contractorsOnly(200), of: vow},
		{Method: "GET", Path: one + "/review"}:                  {may: contractorsOnly(200), of: vow},
		{Method: "GET", Path: one + "/entries"}:                 {may: contractorsOnly(200), of: vow},
		{Method: "GET", Path: one + "/schedule.csv"}:            {may: contractorsOnly(404), of: vow}, // it has none
		{Method: "GET", Path: one + "/subscriptions"}:           {may: contractorsOnly(404), of: vow}, // nor a register of holders
		{Method: "GET", Path: one + "/holders"}:                 {may: contractorsOnly(404), of: vow},
		{Method: "POST", Path: one + "/:action"}:                {may: contractorsOnly(422), of: vow}, // no action has the contract's id as its name
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
