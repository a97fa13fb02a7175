// Package fair lets a bounded number of callers work at once and shares the places
// fairly among those who wait, so that one who asks very often keeps nobody else out.
//
// Callers belong to a member, and members to a group: an address and its network, a
// partner and its organization.
//
// Invariants:
//  1. Never more than Inside callers have a place, and never more than Inside and Waiting
//     together have one or wait.
//  2. A free place goes to the group that has the fewest, of those to the one that was
//     served longest ago; inside a group to a member by the same rule; of a member to
//     the caller that has waited longest. So a group waits for at most one caller of
//     each other group and place, however many those have.
//  3. Where all places to wait are taken, a caller pushes out the newest one of the member
//     that has the most waiting, of the group that has the most; or, where its own group
//     has as many, of that one. So a caller whose member has nobody waiting is refused
//     only where no group has more waiting than its own, and no member of that more than
//     one.
//  4. A caller that gives up leaves nothing behind: a gate keeps no state of those who
//     neither wait nor work.
//
// Callers: actors/directory (passwords that are compared), api (aggregates and test
// deliveries).
//
// Rejected: a queue in the order of arrival with a bound for each caller, which as many
// callers as fill it can still close; golang.org/x/sync/semaphore, which is such a queue.
package fair
