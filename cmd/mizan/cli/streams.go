package cli

import (
	"mizan/cmd/mizan/client"
)

// Version is the version of the program. It is a separate type because kong chooses the arguments of a command by their types.
type Version string

// Streams are the outputs to which a command prints. Streams is an alias of client.Streams, so that kong can pass the same
// value to the commands in package client.
type Streams = client.Streams
