// Package movetest lets tests move organizations between two stores of one process.
//
// Callers: tests of posting and of snapshots/check.
package movetest
