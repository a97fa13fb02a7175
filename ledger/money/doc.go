// Package money defines all numbers that stand for money: amounts, assets (kinds of money), scales (numbers of
// decimals), rates and basis points (hundredths of a percent).
//
// Invariants:
//  1. An Amount is a whole number of minor units (such as cents) from 0 to 2^256 − 1. An Amount is never negative and
//     never a float. No operation wraps; a result out of range is an error. Only a Signed, the difference of two
//     amounts, can be negative.
//  2. Only MulDivFloor, DivFloor, Portion and Convert round, and they round down. Products have 512 bits, so nothing
//     is lost before the division.
//  3. Every amount has one text (digits without sign, space or leading zero) and one
//     binary form (length and minimal big-endian bytes). Other spellings are refused,
//     so equal amounts have equal bytes in keys and hashes.
//  4. The scale comes from the triple (currency, network, env) through one table, never
//     from the currency alone. An unknown triple has no scale.
//  5. Values below 2^64 are read, written and added without allocating. Nearly all values are in
//     this range.
//  6. The work to parse a number is bounded, because a number of more than MaxDigits digits is refused before its
//     digits are examined.
//
// Callers: ledger and all packages above it.
//
// Rejected: Three other types for an Amount were considered. An int64 of minor units was not chosen because ETH and
// bsc tokens have 18 decimals, and amounts up to 2^256 − 1 are accepted. math/big was not chosen because it allocates
// each amount, cannot be compared with ==, and has no bound. uint256.Int alone was not chosen because it wraps, a
// division by zero gives zero, and its JSON accepts 0x10, +5, 05 and bare numbers.
package money
