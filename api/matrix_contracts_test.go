package api_test

import (
	"fmt"

	"mizan/api"
)

// init adds to the matrix the routes of the secular contract API. Each product has these routes.
func init() {
	for _, product := range products {
		record, productPath := aContract(product), secularPath+product
		scheduleStatus := 404 // most products have no schedule
		if product == "leases" || product == "instalment-sales" {
			scheduleStatus = 200
		}
		for name, r := range map[api.RouteName]row{
			{Method: "GET", Path: productPath}:                       {want: staffOnly(200)},
			{Method: "POST", Path: productPath}:                      {want: adminsAndClients(422), body: "{}"},
			{Method: "GET", Path: productPath + "/:id"}:              {want: staffOnly(200), target: record},
			{Method: "GET", Path: productPath + "/:id/actions"}:      {want: staffOnly(200), target: record},
			{Method: "GET", Path: productPath + "/:id/events"}:       {want: staffOnly(200), target: record},
			{Method: "GET", Path: productPath + "/:id/entries"}:      {want: staffOnly(200), target: record},
			{Method: "GET", Path: productPath + "/:id/schedule.csv"}: {want: staffOnly(scheduleStatus), target: record},
			{Method: "POST", Path: productPath + "/:id/:action"}:     {want: adminsAndClients(422), target: record}, // the test also sends the id as :action, and no action has that name
		} {
			matrix[name] = r
		}
	}
	matrix[api.RouteName{Method: "GET", Path: secularPath + "stats"}] = row{want: staffOnly(200)}
	issue := aContract("certificate-issues")
	for _, list := range []string{"/:id/subscriptions", "/:id/holders"} {
		matrix[api.RouteName{Method: "GET", Path: secularPath + "certificate-issues" + list}] = row{want: staffOnly(200), target: issue}
	}
}

// staffOnly is the audience of routes that show an organization's contracts. These routes admit the organization's admins,
// auditors and clients. They admit partners neither with an API key nor with a session.
func staffOnly(status int) audience {
	return sessionsOnly(status).with(403, partnerSessions...)
}

// adminsAndClients is the audience of routes that create contracts and act on them.
func adminsAndClients(status int) audience { return staffOnly(status).with(403, auditors...) }

// aContract returns a target for contracts of the product, which belong to the organization.
func aContract(product string) *target {
	return &target{name: product, unknownID: customerID, shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		creator := asAdmin
		if owner == f.second {
			creator = asForeignAdmin
		}
		return f.callerOf(creator).post(secularPath+product, forms[product].json()).want(201, "").at("data.id")
	}}
}

// enableContracts gives the owner's organization the type and the modules that contracts require.
func (f *accessFixture) enableContracts(owner *recordOwner) {
	f.operator(owner.org).patch("/api/v1/organizations/"+owner.org.String(), fmt.Sprintf(`{"type":"bank","modules":[%q,%q]}`, "participatory_finance", "islamic_finance")).want(200, "")
}
