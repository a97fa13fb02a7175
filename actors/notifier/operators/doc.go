// Package operators sends messages to recipients, the people whom a terminal lists for its alerts, by Telegram's
// Bot API and by e-mail, and sends letters to payers through the same mail server. The caller decides when an attempt
// is made and whether another one follows.
//
// Invariants:
//  1. Each contact gets a message of its own. An attempt reports who was reached so far, and the next
//     attempt goes only to the listed contacts that were not reached. So a contact gets a message twice
//     only if a server's response was lost.
//  2. A channel that is not configured is no failure: its contacts are skipped, and the log says so once, when
//     the Channels are made. But an attempt has failed if neither it nor an earlier one reached a contact.
//  3. Opening a connection may take 5 s of real time (name look-up, TCP and TLS together) and an attempt 15 s in
//     all. STARTTLS, which comes after SMTP's greeting, counts against the 15 s only. At most 64 KiB
//     of a response are read.
//  4. At most MaxSends attempts to reach recipients and MaxMails to mail payers are in progress; an attempt that waits
//     has not begun.
//  5. An Attempt and the log contain no token, password, address, chat or text of a message. Of a server's error
//     they contain its codes and the Bot API's description, shortened and without the token.
//  6. Redirects and proxies of the environment are ignored: they would receive the token, which is part of the URL.
//  7. E-mail that must be encrypted is either encrypted or not sent: a server without STARTTLS is a failure.
//
// Callers: actors/notifier (Send, Mail), cmd/mizan/serving (New).
//
// Rejected: one e-mail to all addresses; it shows each recipient the others' addresses, and a server that refuses one
// may refuse them all. Also rejected: checking the token with the Bot API at start; the service must be able
// to start while Telegram is unreachable.
package operators
