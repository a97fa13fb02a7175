// Package lifecycles has the requests that take a contract from its creation to its end, for each contract product
// (such as a lease) and in both readings (the secular and the religious form of a product).
//
// Callers: bench (measurements), bench/simulation.
package lifecycles
