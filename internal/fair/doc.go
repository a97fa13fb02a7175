// Package fair bounds how many callers work at once and divides the places (permissions to work) fairly among waiting
// callers, so that a very busy caller cannot keep the others out.
//
// Each caller belongs to a member, and each member to a group. For example, an address is a member and its
// network the group, or a partner (a merchant) is a member and its organization the group.
//
// Invariants:
//  1. At most MaxInside callers have a place, and at most MaxWaiting callers wait for one.
//  2. A free place goes to the group with the fewest places. If several groups have equally few, it goes to the one that was
//     served longest ago. Within the group the same rule selects a member. Within the member the caller that has waited
//     longest gets the place. So while a group waits for its next place, each other group gets at most one place, however
//     many of its callers wait.
//  3. If the queue is full, a new caller displaces the newest caller of the member with the most waiting callers in the
//     largest group. On a tie the new caller's own group counts as the largest. A caller whose member has no waiting caller
//     is refused only if two conditions hold: no other group has more waiting callers than the caller's group would have, and
//     no member of the caller's group has more than one waiting caller. This rule concerns the type Gate. The type Places has
//     no queue: it only bounds the number of places, in total and of each owner.
//  4. A caller that stops waiting leaves no state. A gate (a queue with its places) keeps nothing about callers that neither
//     wait nor work.
//
// Callers: actors/directory (comparison of passwords), api/payments (aggregates and test deliveries), api/ledger
// (exports), api/storefront (uploads).
//
// Rejected: A queue in the order of arrival, such as golang.org/x/sync/semaphore, with a bound for each caller
// was considered; it was not chosen because enough callers together can still fill it.
package fair
