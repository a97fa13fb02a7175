// Package operators sends messages to the people who run a terminal, by Telegram's Bot API and by e-mail. The
// caller decides when an attempt is made and whether another one follows.
//
// Invariants:
//  1. Contacts are reached one by one. An attempt reports who was reached so far, and the next attempt
//     goes only to the other contacts that are then listed: a contact gets a message twice only if a
//     server's response was lost.
//  2. A channel that is not configured is no failure: its contacts are skipped, and the log says so once, when
//     the Channels are made. But an attempt after which no contact was ever reached has failed.
//  3. A connection has 5 s of real time (name, TCP and TLS together) and an attempt 15 s in all; SMTP's STARTTLS,
//     after the greeting, has what is left of the 15 s. At most 64 KiB of a response are read.
//  4. At most MaxSends attempts are in progress; one that waits has not begun.
//  5. An Attempt and the log contain no token, password, address, chat or text of a message. Of a server's error
//     they contain its codes and the Bot API's description, cut and without anything that looks like the token.
//  6. Proxies of the environment and redirects are ignored, because the token is part of the address.
//  7. E-mail that must be encrypted is either encrypted or not sent: a server without STARTTLS is a failure.
//
// Callers: actors/notifier (Send), cmd/mizan/serving (New).
//
// Rejected: one e-mail to all addresses; it shows each address to the others, and a server that refuses one may
// refuse them all. Also rejected: checking the token with the Bot API at start; a server must start without
// Telegram.
package operators
