package assert

import "fmt"

// That(ok, format) panics with the formatted message if ok is false.
func That(ok bool, format string, args ...any) {
	if !ok {
		panic("assertion broken: " + fmt.Sprintf(format, args...))
	}
}

// NoError panics if err is not nil. It is for errors that only a bug in this project can cause.
func NoError(err error) {
	if err != nil {
		panic("assertion broken: unexpected error: " + err.Error())
	}
}
