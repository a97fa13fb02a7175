package proof

import _ "embed" // the script

// Script is the JavaScript module.
//
//go:embed proof.js
var Script []byte
