package web

import "mizan/ledger/schema"

// Encoder appends the JSON of answers. Records write themselves with it in ledger/jsonform.
type Encoder = schema.Encoder
