// Package jsonwalk steps through JSON that was found to be strict, without taking
// it apart, and writes texts.
//
// Invariants:
//  1. What is given is one value of strict JSON (valid UTF-8, no name twice). It is
//     not checked again: of anything else the answers mean nothing, but nothing
//     panics and nothing loops.
//  2. Nothing is copied that can be pointed to: names and values alias what they
//     were found in.
//  3. The work of each function is linear in what it is given, and is reported to
//     package steps, so that a test can count it.
//
// Callers: api (requests and answers), actors/payment (what is told of a
// transaction).
//
// Rejected: encoding/json's maps and raw messages, which allocate a map for each
// object that is only looked at once.
package jsonwalk
