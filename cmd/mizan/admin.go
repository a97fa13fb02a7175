package main

import (
	"errors"

	"mizan/cmd/mizan/client"
)

// ofAdmin turns the end of an administration's command into the process's.
func ofAdmin(err error) error {
	var f *client.Fault
	if errors.As(err, &f) {
		return &fault{code: f.Code, lines: f.Lines}
	}
	return err
}
