// Package logins keeps the last attempts to log in to an organization (a tenant of the service), so that the
// organization's administrator can see them.
//
// A restart loses only the failures since an account's last success. The store has the successes, too, because each
// success begins a session, and the session says how many attempts failed before it.
//
// Invariants:
//  1. The memory is bounded. Successes, failures of accounts and attempts with unknown logins have separate bounds,
//     so a flood of one kind does not push out the others.
//  2. The only typed text that is kept is the login of an existing account. Other text is not kept, because people
//     type passwords in the wrong field.
//  3. All attempts on a login during one lockout are one entry with a count.
//
// Callers: actors/directory.
//
// Rejected: Another design would store a record for each attempt. It was not chosen because anybody can make
// attempts, and the journal would keep their records forever.
package logins
