// Package admin is `mizan admin …`: the operations of the administration, from
// a command line, against a running server. It is `mizan contracts …` too, what the
// people of an organization read there with a session's token, and the way on which
// `mizan audit` asks a server.
//
// Invariants:
//  1. It is a client and nothing else: it knows the server by its paths and its
//     answers, and imports nothing of the house (internal/tidy holds it to that).
//     So whatever it can do, a program over HTTPS can do too.
//  2. No token, password, secret or card number is taken from the command line,
//     where every user of the machine could read it in the list of processes:
//     they come from files, from stdin or, the token only, from the environment.
//     None of them is ever printed, in errors neither. A new API key's value is
//     the one exception: this is the only time that it is shown.
//  3. The token goes to the host that was named and to no other: no redirect is
//     followed, and plain HTTP is for loopback only.
//  4. A write has an Idempotency-Key. Where the connection breaks, it is sent once
//     more with the same key; where its outcome stays unknown, the error names the
//     key with which it can be repeated.
//  5. stdout is the server's data: with --json each thing is a line with the JSON
//     object as the server wrote it, else a table. All other words go to stderr.
//  6. What a table or an error shows of the server's words has no control
//     characters: a partner's name can't move the operator's cursor.
//  7. A contract's statement is for people: amounts in major units, and the exact
//     minor units beside them. Which members are amounts, and how many decimals a
//     currency has, an answer does not say: both are lists here, which a test of
//     cmd/mizan holds against the contracts' columns.
//  8. Exit codes: 0 done; 2 the request was wrong (flags, files, any 4xx answer);
//     1 no answer, or one that can't be used (connection, 5xx).
//
// Callers: cmd/mizan, which makes its flags and commands part of its own.
//
// The package has a folder of its own below cmd/mizan because the rules of
// imports are by package: in package main, which imports all of the server, its
// independence could only be promised. It lies inside cmd/mizan because it is no
// program by itself.
//
// Rejected: kong's env tags for the token, because kong quotes values in its
// errors; a generated client, because the answers are shown and not read: a new
// field of the server appears in --json and in `show` without a release here.
package admin
