// Package fair bounds how many callers work at once and divides the places fairly among waiting
// callers, so that a very busy caller can't keep the others out.
//
// Callers belong to a member, and members to a group: an address and its network, a partner and
// its organization.
//
// Invariants:
//  1. At most Inside callers have a place, and at most Inside and Waiting together have one or
//     wait.
//  2. A free place goes to the group with the fewest places; if several have equally few, to the
//     one that was served longest ago. Within the group the same rule selects a member, and within
//     the member the caller that has waited longest gets the place. So for each place a group
//     waits for at most one caller of each other group, however many callers the other groups have.
//  3. If the queue is full, a new caller displaces the newest caller of the member with the
//     most waiting callers in the largest group. On a tie the new caller's own group counts as
//     the largest. So a caller whose member has nobody waiting is refused only if no other group
//     has more waiting callers than its own group would have, and in its own group no member has
//     more than one.
//     Places, whose callers never wait, are divided by a bound for each owner alone.
//  4. A caller that gives up leaves no state: a gate keeps nothing about callers that neither
//     wait nor work.
//
// Callers: actors/directory (comparison of passwords), api (aggregates and test deliveries), api/ledger (exports),
// api/storefront (uploads).
//
// Rejected: a queue in the order of arrival with a bound for each caller, which enough callers
// can still fill; golang.org/x/sync/semaphore, which is such a queue.
package fair
