package results

// past are faults of the product that the suite has found, in the order in which they were.
var past = []struct{ Found, Was, Shown string }{}
