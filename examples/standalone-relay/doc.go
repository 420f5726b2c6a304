// Package standalonerelay holds the files of an API and a relay that run as containers of their own, see README.md.
// Its tests check that the files fit to one another, and run both programs with them.
package standalonerelay
