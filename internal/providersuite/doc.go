// Package providersuite is the contract of payment providers' adapters as one suite of tests. An adapter's own tests describe
// the adapter's rail (the payment network behind it) as a Rail and call Run. The suite then sends charges, payouts and later
// operations through the real journal, the real payment actor and the adapter, and disturbs them: answers are lost before and
// after the rail has acted, connections are refused and cut, the rail is away for hours, the adapter panics, submissions and
// reports arrive twice, and the process is killed between any two steps.
//
// Invariants:
//  1. The judgement is the same after every test (judge.go): what the rail says has moved for each reference is what the ledger
//     says on A:provider:{terminal}, no reference has moved money twice, no reference is unknown to the ledger, every
//     transaction has ended or has an instant for its next inquiry, the checker (snapshots/check) finds nothing, and no file
//     and no log line has a card number.
//  2. A Rail states each feature that it lacks, with the reason. A test that needs the feature is skipped with this reason. No
//     test is skipped for another reason.
//  3. The rail outlives every kill and restart of the core, as another company's computers do.
//  4. The suite knows no adapter. Faults that only the rail's side can cause are made by the rail's stand-in; Proxy and
//     Boundary make the usual ones.
//  5. The suite finds an adapter that lies. Its own tests run it with adapters that report wrong verdicts, resend under new ids
//     or double refunds, and expect a finding for each.
//
// Callers: tests of the packages below actors/provider, and this package's own tests; never code outside tests.
//
// Rejected: another design would check each adapter against expected HTTP requests. It was not chosen because such a test
// repeats what the adapter does, whereas the money that has moved at the end is what matters. Expected statuses after each
// fault were not chosen as the judgement either, because several statuses are right for a lost answer, but only one sum is.
package providersuite
