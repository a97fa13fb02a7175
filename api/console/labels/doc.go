// Package labels has the labels of the console (the website for the service's users) in each of its languages. The API's
// fields, words, operations and kinds of records have labels, and so have the events and states of the journal. The package
// also has the texts of the lists and forms that are made from the API's description.
//
// Each language is one file, catalog/LANG.json. The other languages are translated from English.
//
// Invariants:
//  1. If a language has no catalog, or locale.Load finds a fault in a catalog, neither the program nor its tests start.
//  2. A field has the same label wherever it is shown, unless the catalog has a separate label for the field's path
//     (such as limits.kind).
//  3. A test requires a label for every field, word and operation of the description that the console shows. A name without a
//     label is shown with spaces in place of underscores.
//  4. A test checks that every event and state that the code writes to the journal has a label, and that there are no other
//     labels for events and states. An event has the same label on all pages. If the name of an event means something else for
//     one kind of record, that kind has a separate label for the event.
//
// Callers: api/console and the packages below it.
//
// Rejected: labels in the API's description. The description is in English, and is for programmers, who need no labels.
package labels
