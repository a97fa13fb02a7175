package fair

import "testing"

func TestPlacesAreBoundedForEachOwnerAndInAll(t *testing.T) {
	p := NewSemaphore[string](3, 2)
	for _, step := range []struct {
		owner string
		want  error
	}{{"a", nil}, {"a", nil}, {"a", ErrCrowded}, {"b", nil}, {"b", ErrFull}, {"c", ErrFull}} {
		if err := p.Enter(step.owner); err != step.want {
			t.Errorf("%s: %v, want %v", step.owner, err, step.want)
		}
	}
	p.Leave("a")
	if err := p.Enter("b"); err != nil {
		t.Errorf("Enter after Leave: %v", err)
	}
	for _, owner := range []string{"a", "b", "b"} {
		p.Leave(owner)
	}
	if p.total != 0 || len(p.byOwner) != 0 {
		t.Errorf("%d places of %d owners are left", p.total, len(p.byOwner))
	}
}
