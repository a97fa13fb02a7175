// Package fair bounds how many callers work at once and divides the places fairly among waiting
// callers, so that a very busy caller can't keep the others out.
//
// Callers belong to a member, and members to a group: for example to an address and its network, or to a partner and
// its organization.
//
// Invariants:
//  1. At most MaxInside callers have a place, and at most MaxInside and MaxWaiting together have one or wait.
//  2. A free place goes to the group with the fewest places; if several have equally few, to the
//     one that was served longest ago. Within the group the same rule selects a member, and within
//     the member the caller that has waited longest gets the place. So for each place a group
//     waits for at most one caller of each other group, however many callers the other groups have.
//  3. If the queue is full, a new caller displaces the newest caller of the member with the most waiting callers in the
//     largest group. On a tie the new caller's own group counts as the largest. So a caller whose member has no waiting
//     caller is refused only if two conditions hold: no other group has more waiting callers than the caller's group
//     would have, and in the caller's group no member has more than one waiting caller. The type Places has no queue:
//     it only bounds the places of each owner.
//  4. A caller that gives up leaves no state: a gate keeps nothing about callers that neither
//     wait nor work.
//
// Callers: actors/directory (comparison of passwords), api (aggregates and test deliveries), api/ledger (exports),
// api/storefront (uploads).
//
// Rejected: a queue in the order of arrival with a bound for each caller, which enough callers
// can still fill; golang.org/x/sync/semaphore, which is such a queue.
package fair
