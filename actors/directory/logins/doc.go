// Package logins keeps the most recent login attempts of an organization (a tenant of the service), so that
// the organization's administrator can see them.
//
// The attempts are in memory. After a restart, the log has only the successful ones: the store knows them,
// because each of them began a session, and the session says how many attempts failed before it. The failures
// since an account's last success are lost.
//
// Invariants:
//  1. The memory is bounded. Successes, failures of accounts and attempts with unknown logins have separate bounds,
//     so a flood of one kind does not push out the others.
//  2. A login that was typed is kept only if an account has it. Other text may be a password, because people type
//     passwords in the wrong field.
//  3. While a login is locked out, all attempts on it share one entry with a count.
//
// Callers: actors/directory.
//
// Rejected: Another design would store a record for each attempt. It was not chosen because anybody can make
// attempts, and the journal would keep their records forever.
package logins
