package cli

import (
	"mizan/cmd/mizan/client"
)

// Version is the program's version; kong passes it to commands by this type.
type Version string

// Streams are where a command prints. They are package client's type, so that the commands of that package take the
// same value.
type Streams = client.Streams
