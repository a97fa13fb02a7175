// Package lifecycles has the requests that take contracts of each product, in both readings (the secular and the religious
// form of a product), from their creation to their end.
//
// Callers: bench (its measurements), bench/simulation.
package lifecycles
