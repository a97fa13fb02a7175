// Package fair lets a bounded number of callers work at once and shares the places
// fairly among waiting callers, so that a very busy one can't keep the others out.
//
// Callers belong to a member, and members to a group: an address and its network, a
// partner and its organization.
//
// Invariants:
//  1. Never more than Inside callers have a place, and never more than Inside and Waiting
//     together have one or wait.
//  2. A free place goes to the group with the fewest places, among these to the one that
//     was served longest ago; within the group to a member by the same rule; and for a
//     member to the caller that has waited longest. So a group waits for at most one
//     caller of each other group and place, however many callers the others have.
//  3. When the queue is full, a new caller displaces the newest one of the largest group,
//     and there of the member with the most waiting callers; its own group counts as the
//     largest if it has as many. So a caller whose member has none waiting is refused
//     only if no group has more waiting than its own, and no member of that more than one.
//  4. A caller that gives up leaves nothing behind: a gate keeps no state of callers that
//     neither wait nor work.
//
// Callers: actors/directory (passwords that are compared), api (aggregates and test
// deliveries).
//
// Rejected: a queue in the order of arrival with a bound for each caller, which enough
// callers can still fill; golang.org/x/sync/semaphore, which is such a queue.
package fair
