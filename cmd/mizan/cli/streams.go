package cli

import (
	"mizan/cmd/mizan/client"
)

// Version is the version as commands get it from kong.
type Version string

// Streams are where a command prints. They are the client's type, so that its commands
// take the same value.
type Streams = client.Streams
