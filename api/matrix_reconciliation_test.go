package api_test

import (
	"github.com/google/uuid"

	"mizan/api"
)

// Records of reconciliation that routes name. They belong to the organization.
var (
	aReport     = &target{name: "report", unknownID: uuid.NewString(), shared: true, make: makeReport}
	aDifference = &target{name: "difference", unknownID: uuid.NewString(), shared: true, make: func(f *accessFixture, owner *recordOwner) string {
		makeReport(f, owner)
		return f.operator(owner.org).get(differencesPath+"?limit=1").want(200, "").at("data.0.id")
	}}
)

// makeReport imports a report with one line, which is in no other report, and returns its id.
func makeReport(f *accessFixture, owner *recordOwner) string {
	terminal := f.id(aTerminal, owner)
	return f.operator(owner.org).importReport("terminal_id", terminal, "format", "csv", "mapping", csvMapping,
		"file", csvHeader+uuid.NewString()+",2026-09-03,charge,1000,0,USD,unknown\n").want(201, "").at("data.id")
}

func init() {
	for name, r := range map[api.RouteName]row{
		{Method: "POST", Path: reportsPath}:                                  {want: operatorsOnly(415), body: "{}"}, // a report is sent as multipart/form-data
		{Method: "GET", Path: reportsPath}:                                   {want: operatorsAdminsAndAuditors(200)},
		{Method: "GET", Path: reportsPath + "/:id"}:                          {want: operatorsAdminsAndAuditors(200), target: aReport},
		{Method: "GET", Path: differencesPath}:                               {want: operatorsAdminsAndAuditors(200)},
		{Method: "GET", Path: differencesPath + "/:id"}:                      {want: operatorsAdminsAndAuditors(200), target: aDifference},
		{Method: "POST", Path: differencesPath + "/:id/settle"}:              {want: operatorsOnly(422), target: aDifference, body: "{}"},
		{Method: "GET", Path: reconciliationPath + "/summary"}:               {want: operatorsAdminsAndAuditors(422)}, // without parameters
		{Method: "GET", Path: reconciliationPath + "/days/:id"}:              {want: operatorsAdminsAndAuditors(200), target: aTerminal},
		{Method: "POST", Path: reconciliationPath + "/days/:id/:date/close"}: {want: operatorsOnly(422), target: aTerminal}, // the id is no date
	} {
		matrix[name] = r
	}
}
