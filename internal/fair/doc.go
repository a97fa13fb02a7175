// Package fair limits the number of callers that work at once. It distributes the places (permissions to work) fairly among
// waiting callers, so that a very busy caller cannot keep the others out.
//
// Each caller belongs to a member, and each member to a group. For example, the member is an IP address and the group is the
// address's network, or the member is a partner (a merchant) and the group is the partner's organization.
//
// Invariants:
//  1. At most MaxInside callers have a place, and at most MaxWaiting callers wait for a place.
//  2. A free place goes to the group with the fewest places. If several groups are tied, the place goes to the group that was
//     served longest ago. Within the group the same rule selects a member. Within the member the caller that has waited longest
//     gets the place. So while a group waits for its next place, every other group gets at most one place, no matter how many
//     callers wait there.
//  3. If the queue is full, a new caller displaces a waiting caller: the newest caller of the largest member in the largest
//     group. Here a member or group is large if it has many waiting callers. On a tie, the new caller's own group counts as the
//     largest. A caller whose member has no waiting caller is refused only if both of these conditions hold: no other group has
//     more waiting callers than the caller's group would have, and no member of the caller's group has more than one waiting
//     caller. This rule applies to the type Gate. The type Semaphore has no queue: it only limits the number of places, in
//     total and per owner.
//  4. A caller that stops waiting leaves no state. A gate (a queue with its places) keeps nothing about callers that neither
//     wait nor work.
//
// Callers: actors/directory (comparison of passwords), api/payments (aggregates and test deliveries), api/ledger
// (exports), api/storefront (uploads).
//
// Rejected: A queue in the order of arrival (such as golang.org/x/sync/semaphore) with a limit per caller was considered. It
// was not chosen because many callers together can still fill the queue.
package fair
