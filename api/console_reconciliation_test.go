package api_test

import (
	"mizan/api"
	"mizan/ledger/directory"
)

// Rows of the console's matrix for reconciliation. An auditor reads, and an administrator also decides.
func init() {
	readers := only(directory.Admin, directory.Auditor)
	for name, r := range map[api.RouteName]consoleRow{
		{Method: "GET", Path: "/console/reconciliation/differences"}:             {roles: readers, status: 200},
		{Method: "GET", Path: "/console/reconciliation/differences/:id"}:         {roles: readers, status: 200, target: aDifference},
		{Method: "GET", Path: "/console/reconciliation/differences/:id/settle"}:  {roles: administrators, status: 200, target: aDifference},
		{Method: "POST", Path: "/console/reconciliation/differences/:id/settle"}: {roles: administrators, status: 422, target: aDifference},
		{Method: "GET", Path: "/console/reconciliation/reports"}:                 {roles: readers, status: 200},
		{Method: "GET", Path: "/console/reconciliation/reports/:id"}:             {roles: readers, status: 200, target: aReport},
	} {
		consoleMatrix[name] = r
	}
}
