// Package customstore is an outbox on a table that knows next to nothing: [Table.Get] and [Table.CompareAndSwap] of
// one row, [Table.Scan] in the order of the keys, and a clock. It shows what a database must offer, and passes the
// conformance kit.
//
// The rows, by key:
//
//	session/<id>            until when the session lives
//	lane/<n>                owner, epoch, claims, and outcomes that are decided and not yet written
//	next/<n>                the number of the lane's next message
//	message/<n>/<number>    a message with its state
//	tx/<id>                 there when the transaction has committed
//
// Everything that must not change by halves stands in one row. A lane's row holds its claims, so whoever changes the
// owner sees the claims, and a claim that was made under an older version of the row fails. An outcome is decided by
// writing it into the lane's row in place of the claim; it is carried out afterwards by whoever comes by first, and
// doing it twice does no harm. A transaction puts its messages into their lanes under a mark, and commits by the one
// row that the mark names.
//
// Two things are weaker than in a database with transactions: a claim and a settle over several lanes are atomic for
// each lane only, which is enough because a key has one lane; and the business data of an application commits
// together with its messages only if it uses the same mark.
package customstore
