// Package results keeps what was measured, in a file that grows with every measurement, so that a run which was broken
// off goes on where it stopped.
package results
