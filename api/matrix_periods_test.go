package api_test

// closersOnly are the callers that may close an organization's months: its admins.
func closersOnly(status int) audience {
	return peopleOnly(status).and(403, join(auditors, customers, agents)...)
}

// aMonth is a month that has not ended, in any organization. All organizations have the same
// months.
var aMonth = &target{name: "month", none: "2027-01", everybodys: true, make: func(*accessFixture, *place) string { return "2027-01" }}
