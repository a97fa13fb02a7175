// Package operators sends alerts by Telegram's Bot API and by e-mail to recipients, the people whom a terminal
// (a partner's connection to a payment provider) lists. It also sends e-mails to payers, through the same mail
// server. The caller decides when an attempt is made and whether another one follows.
//
// Invariants:
//  1. Each contact gets a message of its own. An attempt reports which contacts were reached so far, and the
//     next attempt goes only to the other listed contacts. So a contact gets a message twice only if a server's
//     response was lost.
//  2. A channel that is not configured is no failure: its contacts are skipped, and the log says so once, when
//     the Channels are made. But an attempt fails if neither this attempt nor an earlier one has reached a
//     contact.
//  3. Opening a connection may take 5 s of real time (name look-up, TCP and TLS together) and an attempt 15 s
//     in all. STARTTLS comes after SMTP's greeting, so its time counts only against the 15 s. At most 64 KiB
//     of a response are read.
//  4. At most MaxSends attempts to reach recipients and at most MaxMails attempts to mail payers are in
//     progress. The time in which an attempt waits until it may begin is not part of its 15 s.
//  5. An Attempt and the log contain no token, password, address, chat or text of a message. If a server
//     reports an error, they contain the error's codes and, for the Bot API, the description. The description
//     is shortened, and the token is removed from it.
//  6. Redirects are not followed, and proxies that the environment sets are not used, because the target of a
//     redirect or the proxy would receive the token, which is part of the URL.
//  7. E-mail that must be encrypted is either encrypted or not sent: a server without STARTTLS is a failure.
//
// Callers: actors/notifier (Send, Mail), cmd/mizan/serving (New).
//
// Rejected: One e-mail to all addresses was not chosen, because each recipient would see the addresses of the
// others, and because a server that refuses one address may refuse them all. A check of the token with the Bot
// API at start was not chosen, because the service must be able to start while Telegram is unreachable.
package operators
