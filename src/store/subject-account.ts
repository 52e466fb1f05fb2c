/** Whose turn a job takes, by its subject. */

/**
 * SQL of the account to which the subject of a job belongs: the number or identifier of a zone, the identifier of an account, a
 * catalog, a custom hostname or a request for a certificate, `kind:owner` of such a request, or `bucket NUMBER`. 0: the installation
 * itself.
 */
export const ACCOUNT_OF_SUBJECT = `coalesce(CASE
  WHEN subject = '' THEN 0
  WHEN substr(subject, 1, 7) = 'bucket ' THEN (SELECT account FROM buckets WHERE seq = CAST(substr(subject, 8) AS INTEGER))
  WHEN length(subject) = 32 THEN coalesce(
    (SELECT account FROM zones WHERE id = unhex(subject)),
    (SELECT seq FROM accounts WHERE id = unhex(subject)),
    (SELECT account FROM catalogs WHERE id = unhex(subject)),
    (SELECT account FROM consumed_catalogs WHERE id = unhex(subject)))
  WHEN instr(subject, ':') > 0 THEN (
    SELECT account FROM zones WHERE seq = (SELECT zone FROM certificate_requests
      WHERE owner_kind = substr(subject, 1, instr(subject, ':') - 1) AND owner = substr(subject, instr(subject, ':') + 1)
        AND dropped_at IS NULL))
  WHEN length(subject) = 36 THEN (
    SELECT account FROM zones WHERE seq = coalesce(
      (SELECT zone FROM custom_hostnames WHERE id = subject),
      (SELECT zone FROM certificate_requests WHERE id = subject)))
  ELSE (SELECT account FROM zones WHERE seq = CAST(subject AS INTEGER))
END, 0)`;
