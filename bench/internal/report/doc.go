// Package report turns results into ratios, a table, and a verdict on the targets.
package report
