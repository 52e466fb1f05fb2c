/** Who has made a change. */

/** As whom the command line of the server, and what the server does by itself, stand in the audit log. */
const OPERATOR = 'operator@localhost';

export function Who({ email }: { readonly email: string }) {
  return email === OPERATOR ? <span title={OPERATOR}>operator of this server</span> : <bdi>{email}</bdi>;
}
