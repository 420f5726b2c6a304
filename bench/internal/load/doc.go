// Package load makes the messages that every subject carries, and judges what arrived of them.
//
// A message says in its body which key it belongs to and the how-manieth of that key it is, so that whatever reaches
// a broker can be held against what was stored, whoever carried it.
package load
