//go:build race

package gormstore_test

// raceDetector: SQLite is Go code too, and runs two orders of magnitude slower under the detector.
const raceDetector = true

// manyMessages is more than one statement takes.
const manyMessages = 1501
