package api_test

// closersOnly are those who may close an organization's months: its admins.
func closersOnly(status int) audience {
	return peopleOnly(status).and(403, join(auditors, customers, agents)...)
}

// aMonth is one that has not ended, in whosever organization: nobody has another.
var aMonth = &target{name: "month", none: "2027-01", everybodys: true, make: func(*accessFixture, *place) string { return "2027-01" }}
