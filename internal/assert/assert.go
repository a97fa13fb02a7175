package assert

import "fmt"

// That panics with the formatted message unless ok holds.
func That(ok bool, format string, args ...any) {
	if !ok {
		panic("assertion broken: " + fmt.Sprintf(format, args...))
	}
}

// NoError panics if err is not nil: for errors that only a mistake of ours can cause.
func NoError(err error) {
	if err != nil {
		panic("assertion broken: unexpected error: " + err.Error())
	}
}
