// Package operators sends messages to the people who run a terminal: by Telegram's Bot
// API and by e-mail. When an attempt is made, and whether another one follows, is its
// caller's business.
//
// Invariants:
//  1. Each contact is told for itself. An attempt says who was told so far, and the next
//     one is made for the others who are listed by then: nobody is told twice because
//     somebody else was not told, unless an answer got lost.
//  2. A way that is not configured is no failure: its contacts are never told, and never
//     left. The log says so once, when the Channels are made. But an attempt after which
//     nobody at all was ever told is a failed one, whoever was listed.
//  3. A connection has 5 s, name, TCP and TLS together, and an attempt 15 s in all, of
//     real time. E-mail's STARTTLS comes after a connection's greeting and has what is
//     left of these. No answer is read past 64 KiB.
//  4. No more than MaxSends attempts are under way. One that has to wait has not begun.
//  5. No token, password, address, chat or word of a message is in an Attempt or in the
//     log. Of what a server says about a failure there are its codes and, of the Bot
//     API, its description, cut and without anything that looks like the token.
//  6. No proxy of the environment is used and no redirect followed: the token is part
//     of the address.
//  7. E-mail that is to be encrypted is, or it is not sent: a server that offers no
//     STARTTLS is a failure.
//
// Callers: actors/notifier (Send), cmd/mizan/serving (New).
//
// Rejected: one e-mail to all addresses. It shows each to the others, and a server that
// refuses one may refuse them all. Also rejected: asking the Bot API at start whether
// the token is right: a server must start without Telegram.
package operators
