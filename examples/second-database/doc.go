// Package seconddatabase shows a service with more than one outbox: one in each of its databases, and a second one, by
// name, in the first.
//
// A message belongs to the database of the rows that it is about, because the two commit together. So each database has
// an outbox, each outbox a relay, and all relays may share a publisher. [Open] wires three of them:
//
//	orders  in the database of orders     OrderPlaced and the like, in strict order of a customer
//	mails   in the database of orders     mails to customers, which may be given up and hold up no order
//	stock   in the database of the stock  what happens to goods
//
// A transaction of the database of orders may write to orders and mails at once: see [Shop.PlaceOrder]. No transaction
// spans both databases: what the one causes in the other goes by a message, see [Shop.Reserve], which the inbox of the
// other database handles once.
package seconddatabase
