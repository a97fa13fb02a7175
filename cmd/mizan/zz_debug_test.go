package main
import ("testing";"mizan/internal/testkit")
func debugDeliveries(t *testing.T, s *testkit.Server) {
	a, _ := s.Partner().Get("/api/v1/transactions?limit=1&env=test")
	var l struct{ Data []struct{ID string} }
	_ = a.JSON(&l)
	a, _ = s.Admin().Get("/api/v1/transactions/"+l.Data[0].ID+"/routing")
	t.Log(string(a.Body))
	a, _ = s.Admin().Get("/api/v1/terminals")
	t.Log(string(a.Body))
}
