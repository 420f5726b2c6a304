// Package relayconf reads the configuration of a relay process, and opens what it names.
//
// A configuration is one YAML file, which variables of the environment add to and overrule: POSTROOM__RELAY__WORKERS=8
// is the key relay.workers. Text may name secrets that stand elsewhere: ${NAME} is a variable of the environment,
// ${file:/run/secrets/password} what a file holds, and $${ a plain ${. A key that there is not is an error, which names
// the nearest that there is. docs/relay.md lists them all.
//
// Scalars keep the text in which they are written until their key gives them a type, so that a password of digits
// stays as it is.
package relayconf
