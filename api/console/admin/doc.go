// Package admin contains the console's pages for administrators. (The console is the web pages for the users of an
// organization, which is a tenant of the service.) On these pages, administrators manage partners (merchants), terminals (a
// partner's connections to a provider), keys, limits and other records of the organization.
//
// Invariants:
//  1. Package resource generates the pages of records from the description of the API. Each kind of record is one row of the
//     table in kinds.go.
//  2. Only a person with the role admin may open the pages. What an administrator may do is decided by the routes of the API.
//
// Callers: api/console.
//
// Rejected: handwritten pages for each kind of record. Each new column would need changes in several places.
package admin
