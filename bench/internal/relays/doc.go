// Package relays measures relays that are processes of their own: several on one database, what one takes over from
// another, and how much memory one needs. The command starts itself again for each of them, see Main.
package relays
