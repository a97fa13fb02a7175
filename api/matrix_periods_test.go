package api_test

// adminsOnly is the audience of the route that closes an organization's months: its admins.
func adminsOnly(status int) audience {
	return sessionsOnly(status).with(403, join(auditors, clientSessions, partnerSessions)...)
}

// aMonth is a month that has not ended. It belongs to nobody, because all organizations have the same months.
var aMonth = &target{name: "month", unknownID: "2027-01", belongsToNobody: true, make: func(*accessFixture, *recordOwner) string { return "2027-01" }}
