// Package descriptiontest checks requests and responses of tests against the OpenAPI document.
//
// Invariants:
//  1. A response must have a described status, with its headers and a body that its schema allows. Members that are not
//     described fail, because the schemas of responses are closed.
//  2. A request is checked if it was carried out: its parameters, its body and its credentials. A request that was refused
//     may be wrong on purpose.
//  3. A path that is not described may only be refused, in one of the described forms.
//
// Callers: tests of api and of api/conformance. No package of the product imports it, so that kin-openapi is not in
// the binary.
//
// Rejected: validation in the server. It would cost each request more than its own work, and a fault of the description
// would become a fault of the service.
package descriptiontest
