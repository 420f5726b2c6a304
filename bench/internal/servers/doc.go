// Package servers prepares the real servers for one measurement, reads back what reached the broker, and removes
// everything that the measurement made.
package servers
