package api_test

import "mizan/api"

// init adds the rows of the religious reading's routes, which are the same for all product
// types. Roles that only read the ledger are not admitted.
func init() {
	vow := &target{name: "mudaraba", none: someone, shared: true, make: func(q *accessFixture, at *place) string {
		return q.as(q.adminOf(at)).post(islamic+"mudaraba", religiousForm("mudaraba").json()).want(201, "").at("data.id")
	}}
	screening := &target{name: "screening", none: someone, shared: true, make: func(q *accessFixture, at *place) string {
		return q.as(q.adminOf(at)).get(islamic+"screen?subject=asset").want(200, "").at("data.screening_id")
	}}
	productType := &target{name: "product type", none: "salam", everybodys: true, make: func(*accessFixture, *place) string { return "mudaraba" }}
	const one = islamic + ":product_type/:id"
	for name, r := range map[api.RouteName]row{
		{Method: "GET", Path: islamic + "stats"}:          {may: contractorsOnly(200)},
		{Method: "GET", Path: islamic + "regions"}:        {may: contractorsOnly(200)},
		{Method: "GET", Path: islamic + "charity"}:        {may: contractorsOnly(200)},
		{Method: "GET", Path: islamic + "screen"}:         {may: contractorsOnly(200), query: "?subject=asset"},
		{Method: "GET", Path: islamic + "screen/:id"}:     {may: contractorsOnly(200), of: screening},
		{Method: "GET", Path: islamic + ":product_type"}:  {may: contractorsOnly(200), of: productType, absent: 400},
		{Method: "POST", Path: islamic + ":product_type"}: {may: contractorsOnly(422), of: productType, absent: 400, body: "{}"},
		{Method: "GET", Path: one}:                        {may: contractorsOnly(200), of: vow},
		{Method: "GET", Path: one + "/review"}:            {may: contractorsOnly(200), of: vow},
		{Method: "GET", Path: one + "/entries"}:           {may: contractorsOnly(200), of: vow},
		{Method: "GET", Path: one + "/schedule.csv"}:      {may: contractorsOnly(404), of: vow}, // it has none
		{Method: "GET", Path: one + "/subscriptions"}:     {may: contractorsOnly(404), of: vow}, // nor a register of holders
		{Method: "GET", Path: one + "/holders"}:           {may: contractorsOnly(404), of: vow},
		{Method: "POST", Path: one + "/:action"}:          {may: contractorsOnly(422), of: vow}, // no action has the contract's id as its name
	} {
		matrix[name] = r
	}
}

// adminOf returns the administrator of a place's organization.
func (q *accessFixture) adminOf(at *place) kind {
	if at == q.second {
		return asForeignAdmin
	}
	return asAdmin
}
