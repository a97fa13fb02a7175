// Package descriptiontest checks the requests and responses of tests against the OpenAPI document, which describes the API.
// Only tests import this package, so the library kin-openapi is not part of the program.
//
// Invariants:
//  1. A response must have a status that the document describes, and the headers and body that the document describes for this
//     status. A body with any other member is an error, because the schemas of responses are closed.
//  2. If a request was carried out, its parameters, its body and its credentials are checked. If it was refused, the request is
//     not checked, because a test may send wrong requests on purpose.
//  3. If the document does not describe the path of a request, the request must be refused, with one of the forms of refusals
//     that the document describes.
//
// Callers: tests of api and of api/conformance.
//
// Rejected: validation of requests and responses in the server. It would cost more than the work of the requests themselves,
// and a mistake in the description would become a fault of the service.
package descriptiontest
