// Package descriptiontest checks the requests and responses of tests against the OpenAPI document, which describes
// the API. Only tests import it, so that the library kin-openapi is not in the program.
//
// Invariants:
//  1. A response must have a described status, the headers of that status, and a body that matches the schema. A member that is
//     not described is an error, because the schemas of responses are closed.
//  2. A request that was carried out is checked: its parameters, its body and its credentials. A request that was
//     refused is not checked, because it may be wrong on purpose.
//  3. A request for a path that is not described must be refused. The refusal must have one of the described forms.
//
// Callers: tests of api and of api/conformance.
//
// Rejected: Another design would validate requests and responses in the server. It was not chosen because the
// validation would cost each request more than the request's own work, and a fault of the description would become a
// fault of the service.
package descriptiontest
