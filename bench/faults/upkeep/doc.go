// Package upkeep tests that the maintenance of a store survives SIGKILL at random moments. It kills the commands that take a
// backup, restore a backup and change keys. It also kills a server that is sending a backup, and a server that starts while
// Badger (the key-value store) is compacting its tables.
//
// Invariants:
//  1. After a kill, every file in the backup directory is a complete backup. The next backup can be an increment of the last
//     one (a backup of only the later rows). A store that is restored from the backups passes the checker.
//  2. After a killed restore, the data directory is complete, or a server refuses it with a message that names the cause. The
//     restore can be repeated. It first removes what the killed restore has left.
//  3. After any of these kills the server starts, and everything that it has acknowledged is still stored.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new random cases for ten minutes, and MIZAN_SEED repeats the random choices of an
// earlier run. A command is killed after a random fraction of its usual duration. The duration varies, so the same seed does
// not give exactly the same moments.
//
// Rejected: another design would use strace to kill the process at its system calls. It was not chosen because package inject
// already makes these calls fail one by one, and because a kill at a random moment can also come between two system calls.
package upkeep
