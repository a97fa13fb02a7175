// Package money defines all numbers that stand for money: amounts, assets (kinds of money), scales (numbers of
// decimals), rates and basis points (hundredths of a percent).
//
// Invariants:
//  1. An Amount is a whole number of minor units (such as cents) from 0 to 2^256 − 1. An Amount is never negative and
//     never a float. No operation wraps; a result out of range is an error. Only a Signed, the difference of two
//     amounts, can be negative.
//  2. Only MulDivFloor, DivFloor, Portion and Convert round, and they round down. Products have 512 bits, so nothing
//     is lost before the division.
//  3. Every amount has exactly one text form (digits without sign, space or leading zero) and one binary form (length and
//     minimal big-endian bytes). Every other form is refused, so equal amounts have equal bytes in keys and hashes.
//  4. One table gives the scale for each triple (currency, network, env). The currency alone does not determine the
//     scale. A triple that is not in the table has no scale.
//  5. Values below 2^64, that is, nearly all values, are read, written and added without allocating.
//  6. The time to parse a number is bounded: if it has more than MaxDigits digits, it is refused before its digits are
//     examined.
//
// Callers: ledger and all packages above it.
//
// Rejected: Three other types for an Amount were considered. An int64 of minor units was not chosen because ETH and
// bsc tokens have 18 decimals, and amounts up to 2^256 − 1 are accepted. math/big was not chosen because it allocates
// each amount, cannot be compared with ==, and has no bound. uint256.Int alone was not chosen because it wraps, a
// division by zero gives zero, and its JSON accepts 0x10, +5, 05 and bare numbers.
package money
