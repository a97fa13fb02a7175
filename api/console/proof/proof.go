package proof

import _ "embed" // the script

// Script is the source of the script, a JavaScript module.
//
//go:embed proof.js
var Script []byte
