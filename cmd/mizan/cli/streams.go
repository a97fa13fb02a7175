package cli

import (
	"mizan/cmd/mizan/client"
)

// Version is the program's version. It has a type of its own so that kong can pass it to commands as an argument.
type Version string

// Streams are the outputs to which a command prints. It is the type of package client, so that the commands of that package take
// the same value.
type Streams = client.Streams
