package api_test

import (
	"fmt"

	"mizan/api"
)

// init adds the rows of the secular reading's routes, which each product has.
func init() {
	for _, product := range products {
		record, base := aContract(product), secularPath+product
		schedule := 404 // the product has no schedule
		if product == "leases" || product == "instalment-sales" {
			schedule = 200
		}
		for name, r := range map[api.RouteName]row{
			{Method: "GET", Path: base}:                       {want: staffOnly(200)},
			{Method: "POST", Path: base}:                      {want: adminsAndClients(422), body: "{}"},
			{Method: "GET", Path: base + "/:id"}:              {want: staffOnly(200), target: record},
			{Method: "GET", Path: base + "/:id/entries"}:      {want: staffOnly(200), target: record},
			{Method: "GET", Path: base + "/:id/schedule.csv"}: {want: staffOnly(schedule), target: record},
			{Method: "POST", Path: base + "/:id/:action"}:     {want: adminsAndClients(422), target: record}, // no action has the contract's id as its name
		} {
			matrix[name] = r
		}
	}
	issue := aContract("certificate-issues")
	for _, rest := range []string{"/:id/subscriptions", "/:id/holders"} {
		matrix[api.RouteName{Method: "GET", Path: secularPath + "certificate-issues" + rest}] = row{want: staffOnly(200), target: issue}
	}
}

// staffOnly are an organization's users who may see its contracts. Partners are not admitted,
// with a key or a session.
func staffOnly(status int) audience {
	return sessionsOnly(status).with(403, partnerSessions...)
}

// adminsAndClients are those of them who may create contracts and act on them.
func adminsAndClients(status int) audience { return staffOnly(status).with(403, auditors...) }

// aContract returns a contract of the product, which belongs to the organization.
func aContract(product string) *target {
	return &target{name: product, unknownID: customerID, shared: true, make: func(f *accessFixture, at *place) string {
		creator := asAdmin
		if at == f.second {
			creator = asForeignAdmin
		}
		return f.callerOf(creator).post(secularPath+product, forms[product].json()).want(201, "").at("data.id")
	}}
}

// createContracts gives a place's organization what contracts require.
func (f *accessFixture) createContracts(at *place) {
	f.operator(at.org).patch("/api/v1/organizations/"+at.org.String(), fmt.Sprintf(`{"type":"bank","modules":[%q,%q]}`, "participatory_finance", "islamic_finance")).want(200, "")
}
