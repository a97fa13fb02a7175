// Package jsonwalk finds members in the bytes of validated JSON, and reads strings, without decoding the JSON into Go
// values.
//
// Invariants:
//  1. The input is one value of strict JSON (valid UTF-8, no object with a repeated name). The package does not check the
//     input. For any other input the results are meaningless, but no function panics or loops forever.
//  2. Returned names and values share the memory of the input where possible.
//  3. The work of each function is linear in the size of its input. Each function reports its work to package steps,
//     so that a test can count the work.
//
// Callers: api and actors/payment (requests), ledger/schema and ledger/jsonform (responses and
// notifications).
//
// Rejected: Maps and raw messages of encoding/json were considered. They were not chosen because encoding/json would allocate a
// map for each object, although each object is read only once.
package jsonwalk
