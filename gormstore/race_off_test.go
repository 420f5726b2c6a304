//go:build !race

package gormstore_test

const raceDetector = false

// manyMessages is more than PostgreSQL could take as parameters.
const manyMessages = 7001
