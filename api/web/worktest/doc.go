// Package worktest lets the api's fuzz targets check that parsing a caller's input takes work
// linear in the input's size. Only tests import it.
package worktest
