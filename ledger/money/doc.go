// Package money defines amounts, assets, scales, rates and basis points: all numbers that stand
// for money.
//
// Invariants:
//  1. An Amount is a whole number of minor units from 0 to 2^256 − 1. It is never
//     negative and never a float, and no operation wraps: a result out of range is an
//     error. Only a Signed, the difference of two amounts, can be negative.
//  2. Rounding is down, and only in MulDivFloor, DivFloor, Portion and Convert.
//     Products have 512 bits, so nothing is lost before the division.
//  3. Every amount has one text (digits without sign, space or leading zero) and one
//     binary form (length and minimal big-endian bytes). Other spellings are refused,
//     so equal amounts have equal bytes in keys and hashes.
//  4. The scale comes from the triple (currency, network, env) through one table, never
//     from the currency alone. An unknown triple has no scale.
//  5. Values below 2^64, which are nearly all values, are read, written and added
//     without allocating.
//  6. The work to parse a number is bounded: more than MaxDigits digits are refused
//     before they are examined.
//
// Callers: ledger and all packages above it.
//
// Rejected: int64 minor units (ETH and bsc tokens have 18 decimals, and amounts up to 2^256 − 1
// are accepted); math/big (allocates each amount, has no == and no bound); uint256.Int itself
// (it wraps, a division by zero gives zero, and its JSON accepts 0x10, +5, 05 and bare numbers).
package money
