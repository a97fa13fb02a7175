// Package upkeep tests that maintenance of a store survives SIGKILL at random moments. It kills backups, a server
// that sends a backup, restores, changes of keys, and starts of a server while Badger (the key-value store) compacts
// its tables.
//
// Invariants:
//  1. After a kill, every backup in the directory of backups is whole. The next backup can be an increment (a backup
//     of only the later rows) to the last of them. A store that is restored from the backups passes the checker.
//  2. After a killed restore, the directory is complete, or a server refuses the directory with a message that names
//     the cause. The restore can be repeated, and then removes the remains.
//  3. After any of these kills the server starts, and has everything that it has acknowledged.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for that time, and MIZAN_SEED repeats the choices. A kill
// comes after a random fraction of the time that the command takes when it is not killed, so the moments differ a
// little from run to run.
//
// Rejected: another design would kill at system calls, with strace. It was not chosen because package inject already
// makes these calls fail one by one, and because kills at random moments also come between two calls.
package upkeep
