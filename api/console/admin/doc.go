// Package admin has the administration's pages of the console (the web pages for the users of an organization). With
// them an administrator manages partners (merchants), terminals (a partner's connections to a provider), keys, limits
// and other records of the organization (a tenant of the service).
//
// Invariants:
//  1. The pages of records come from the description of the API (package resource). A kind of record is one row of the table
//     in kinds.go.
//  2. Only a person with the role admin may open the pages. The routes of the API decide what an administrator may
//     do.
//
// Callers: api/console.
//
// Rejected: another design would have a page for each kind of record, written by hand. It was not chosen because each
// new column would need changes in several places.
package admin
