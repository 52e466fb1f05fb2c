/** Who has made a change. */

/** As whom the command line of the server, and what the server does by itself, stand in the audit log. */
const OPERATOR = 'operator@localhost';

interface WhoProps {
  readonly email: string;
  /** The name of the credential with which it was done. */
  readonly credential?: string | undefined;
}

export function Who({ email, credential }: WhoProps) {
  if (email === OPERATOR) return <span title={OPERATOR}>operator of this server</span>;
  return (
    <>
      <bdi>{email}</bdi>
      {credential !== undefined && (
        <span class="muted">
          {' '}
          with <bdi>{credential}</bdi>
        </span>
      )}
    </>
  );
}
