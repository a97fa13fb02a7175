// Package worktest helps the API's fuzz tests (tests with random inputs) to check that the work to parse a caller's
// input is proportional to the input's size. Only tests import it.
package worktest
