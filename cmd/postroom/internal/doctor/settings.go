package doctor

import (
	"context"
	"fmt"
	"slices"
)

// setting is one of the server's, and the value with which it is a finding.
type setting struct {
	name, bad string
	severity  Severity
	text, fix string
}

const crashLoses = "a crash of the server may undo commits whose messages were published, and deliveries, which repeat"

var postgresSettings = []setting{
	{"fsync", "off", Critical, crashLoses, "set fsync = on"},
	{"full_page_writes", "off", Critical, "a crash of the server may damage tables", "set full_page_writes = on"},
	{"synchronous_commit", "off", Critical, crashLoses, "set synchronous_commit = on for the accounts of applications"},
	{
		"default_transaction_read_only", "on", Critical, "nothing can be enqueued or relayed",
		"set default_transaction_read_only = off, or give the address of the primary",
	},
	{
		"idle_in_transaction_session_timeout", "0", Notice, "a forgotten transaction holds back vacuum for good",
		"set idle_in_transaction_session_timeout to some minutes for the accounts of applications",
	},
}

var mysqlSettings = []setting{
	{"innodb_flush_log_at_trx_commit", "0", Critical, crashLoses, "set innodb_flush_log_at_trx_commit = 1"},
	{"innodb_flush_log_at_trx_commit", "2", Critical, crashLoses, "set innodb_flush_log_at_trx_commit = 1"},
	{"innodb_doublewrite", "OFF", Critical, "a crash of the server may damage tables", "set innodb_doublewrite = ON"},
	{
		"read_only", "ON", Critical, "nothing can be enqueued or relayed",
		"set read_only = OFF, or give the address of the primary",
	},
	{
		"innodb_autoinc_lock_mode", "2", Notice,
		"writers of one outbox insert one after another, because the server hands out numbers out of order",
		"set innodb_autoinc_lock_mode = 1",
	},
}

// pair is a setting's name and value, in the columns of SHOW VARIABLES.
type pair struct {
	Name  string `gorm:"column:Variable_name"`
	Value string `gorm:"column:Value"`
}

// settings holds the server's against those that the outbox relies on.
func (e *examination) settings(ctx context.Context) ([]Finding, error) {
	known, statement := mysqlSettings, "SHOW GLOBAL VARIABLES WHERE variable_name IN ?"
	if e.dialect == onPostgres {
		known, statement = postgresSettings, `
SELECT name AS "Variable_name", setting AS "Value" FROM pg_settings WHERE name IN ?`
	}
	var names []string
	for _, s := range known {
		names = append(names, s.name)
	}
	have, err := query[pair](ctx, e, statement, names)
	findings := judge(known, have)
	if err != nil || e.dialect != onPostgres {
		return findings, err
	}
	for _, look := range []func(context.Context) ([]Finding, error){e.standby, e.accounts} {
		found, err := look(ctx)
		if err != nil {
			return findings, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

func judge(known []setting, have []pair) (findings []Finding) {
	for _, s := range known {
		if slices.Contains(have, pair{s.name, s.bad}) {
			findings = append(findings, Finding{
				Severity: s.severity, Subject: s.name, Text: fmt.Sprintf("it is %s: %s", s.bad, s.text), Fix: s.fix,
			})
		}
	}
	return findings
}

// standby tells when the address leads to a server that takes no writes.
func (e *examination) standby(ctx context.Context) ([]Finding, error) {
	rows, err := query[bool](ctx, e, "SELECT pg_is_in_recovery()")
	if err != nil || !rows[0] {
		return nil, err
	}
	return []Finding{{
		Severity: Critical, Subject: "server", Text: "it is a standby, so nothing can be enqueued or relayed",
		Fix: "give the address of the primary, or one with target_session_attrs=read-write",
	}}, nil
}

// accounts tells whose commits are not durable. For a relay's own that would be no loss, only duplicates.
func (e *examination) accounts(ctx context.Context) ([]Finding, error) {
	rows, err := query[string](ctx, e, `
SELECT coalesce(r.rolname, 'every account') || coalesce(' in ' || d.datname, '')
FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole LEFT JOIN pg_database d ON d.oid = s.setdatabase
WHERE 'synchronous_commit=off' = ANY (s.setconfig) AND (d.datname IS NULL OR d.datname = current_database())
ORDER BY 1`)
	var findings []Finding
	for _, account := range rows {
		findings = append(findings, Finding{
			Severity: Warning, Subject: account,
			Text: "its commits are not durable (synchronous_commit = off): if it enqueues, " + crashLoses,
			Fix:  "ALTER ROLE … SET synchronous_commit = on, unless it is the account of a relay alone",
		})
	}
	return findings, err
}
