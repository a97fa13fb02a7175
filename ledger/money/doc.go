// Package money holds amounts, assets, scales, rates and basis points: every
// number that stands for money in the house.
//
// Invariants:
//  1. An Amount is a whole number of minor units from 0 to 2^256 − 1. It is
//     never negative, never a float, and no operation wraps: what leaves the
//     range is an error. Signed exists to show a difference, not to keep one.
//  2. Rounding is down, and only in MulDivFloor, DivFloor, Portion and Convert.
//     Products are taken in 512 bits, so nothing is lost before the division.
//  3. Every amount has one text (digits without sign, space or leading zero)
//     and one binary form (length and minimal big-endian bytes). Any other
//     spelling is refused, so equal amounts have equal bytes in keys and hashes.
//  4. The scale comes from the triple (currency, network, env) through one
//     table, never from the ticker; an unknown triple has none.
//  5. Values below 2^64, which is nearly all of them, are read, written and
//     added without allocating.
//  6. The work to read a number is bounded: more than MaxDigits digits are
//     refused before they are looked at.
//
// Callers: ledger and everything above it that touches an amount.
//
// Rejected: int64 minor units (ETH and bsc tokens have 18 decimals, and amounts
// up to 2^256 − 1 are accepted); math/big (a heap object an amount, no ==, no
// bound); uint256.Int itself (it wraps, divides by zero to zero, and its JSON
// takes 0x10, +5, 05 and bare numbers).
package money
