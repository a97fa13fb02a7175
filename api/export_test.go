package api

// RouteName is a route as the tests know it.
type RouteName struct{ Method, Path string }

// Routes are all routes of the server, HEAD besides GET left out.
func (s *Server) Routes() (names []RouteName) {
	for _, r := range s.routes {
		names = append(names, RouteName{r.method, r.path})
	}
	return names
}

// Served are the routes that the router really has.
func (s *Server) Served() (names []RouteName) {
	for _, r := range s.app.GetRoutes(true) {
		names = append(names, RouteName{r.Method, r.Path})
	}
	return names
}

// SearchBack is how a page far behind is found.
var SearchBack = searchBack
