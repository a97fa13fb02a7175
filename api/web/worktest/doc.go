// Package worktest lets fuzz targets of the api check that reading what callers send
// takes work that is linear in its size. Only tests import it.
package worktest
