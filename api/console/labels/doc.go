// Package labels has the names that the console (the website for the service's users) shows for the API's fields,
// words, operations and kinds of records, and for events and states of the journal, in each language of the console. It also has the texts of the lists and
// forms that are made from the API's description.
//
// A language is one file, catalog/LANG.json. English is the master copy.
//
// Invariants:
//  1. Neither the program nor its tests start if a language has no catalog, or if locale.Load finds a fault in a catalog.
//  2. A field has the same label wherever it is shown, unless the catalog has a separate label for the field's path
//     (such as limits.kind).
//  3. A test requires a label for every field, word and operation of the description that the console shows. A name without a
//     label is shown with spaces in place of underscores.
//  4. A test requires a label for every event and state that the code writes to the journal, and no label for any other. An
//     event has the same label on all pages, and a separate one for a kind of records for which its name means another thing.
//
// Callers: api/console and the packages below it.
//
// Rejected: Another design would have the labels in the API's description. It was not chosen because the description
// is in English and for programmers, who need no labels.
package labels
