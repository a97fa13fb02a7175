// Package lifecycles lists, for each contract product (such as a lease), the requests that take a contract from its creation to
// its end. There are requests for both readings of a product, which are its secular and its religious form.
//
// Callers: bench (measurements), bench/simulation.
package lifecycles
