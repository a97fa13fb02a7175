package api_test

import (
	"mizan/api"
	"mizan/ledger/directory"
)

// init adds to consoleMatrix the console's pages about contracts. These pages open for the roles that may create contracts and
// act on them.
func init() {
	roles := only(directory.Admin, directory.Client)
	const root = "/console/contracts"
	consoleMatrix[api.RouteName{Method: "GET", Path: root}] = consoleRow{roles: roles, status: 200}
	for family, product := range map[string]string{"/pfp": "leases", "/islamic-banking": "mudaraba"} {
		record := aContract("leases")
		if family != "/pfp" {
			record = mudarabaContract
		}
		name := &target{name: product + " in addresses", unknownID: "salam", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return product }}
		add := func(method, path string, status int, x *target) {
			consoleMatrix[api.RouteName{Method: method, Path: root + family + path}] = consoleRow{roles: roles, status: status, target: x}
		}
		add("GET", "", 200, nil)
		add("GET", "/:product_type", 200, name)
		add("GET", "/:product_type/new", 200, name)
		add("POST", "/:product_type/new", 422, name)
		add("GET", "/:product_type/:id", 200, record)
		add("GET", "/:product_type/:id/entries", 200, record)
		add("GET", "/:product_type/:id/events", 200, record)
		add("GET", "/:product_type/:id/holders", 404, record)
		add("GET", "/:product_type/:id/subscriptions", 404, record)
		add("GET", "/:product_type/:id/:action", 404, record) // the test also sends the contract's id as :action, and no action has that name
		add("POST", "/:product_type/:id/:action", 404, record)
		if family == "/pfp" {
			add("GET", "/:product_type/:id/schedule.csv", 200, record)
			continue
		}
		add("GET", "/:product_type/:id/schedule.csv", 404, record) // a mudaraba has no schedule
		add("GET", "/review", 200, nil)
		add("GET", "/screening", 200, nil)
		add("POST", "/screening", 422, nil)
		add("GET", "/screening/:id", 200, aScreening)
		add("GET", "/charity", 200, nil)
	}
}
