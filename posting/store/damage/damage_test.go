package damage

import "testing"

func TestErrorTextNamesTheFileAndGivesAdvice(t *testing.T) {
	for want, err := range map[string]*Error{
		"the store is damaged: dir/HEAD: slot 1 is empty; restore from a backup": New("dir/HEAD", "slot %d is empty", 1),
		"the store is damaged: a row is missing; restore from a backup":          New("", "a row is missing"),
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
