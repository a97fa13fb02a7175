package api_test

// closersOnly are the callers that may close an organization's months: its admins.
func closersOnly(status int) audience {
	return peopleOnly(status).with(403, join(auditors, customers, agents)...)
}

// aMonth is a month that has not ended, in any organization. All organizations have the same
// months.
var aMonth = &target{name: "month", unknownID: "2027-01", belongsToNobody: true, make: func(*accessFixture, *place) string { return "2027-01" }}
