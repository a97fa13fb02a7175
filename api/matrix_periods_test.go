package api_test

// adminsOnly are the callers that may close an organization's months: its admins.
func adminsOnly(status int) audience {
	return sessionsOnly(status).with(403, join(auditors, clientSessions, partnerSessions)...)
}

// aMonth is a month that has not ended, in any organization. All organizations have the same
// months.
var aMonth = &target{name: "month", unknownID: "2027-01", belongsToNobody: true, make: func(*accessFixture, *place) string { return "2027-01" }}
