/** Addresses of PostgreSQL. A URL may name several hosts, of which one accepts writes; `pg` itself takes only one. */
import { UserError } from '../base/errors.js';

/** One URL for each host of `postgresql://user@host1:5432,host2:5432/database?options`. Throws a UserError. */
export function hostsOf(url: string): readonly string[] {
  const match = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)(.*)$/.exec(url);
  if (!match) {
    throw new UserError(
      'the address of the cluster is not a PostgreSQL URL',
      'Write it as postgresql://user@host:5432/database; several hosts are separated by commas.',
    );
  }
  const [, scheme, user, hosts, rest] = match;
  return hosts!.split(',').map((host) => `${scheme}${user}${host}${rest}`);
}

/** The URL without its password, for people. */
export function withoutPassword(url: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^:@/?#]*):[^@/?#]*@/, '$1@').replace(/([?&]password=)[^&#]*/g, '$1…');
}

/** The name of the database in the address; that of the user where it names none, as PostgreSQL does it. */
export function databaseOf(url: string): string {
  const [first] = hostsOf(url);
  const { pathname, username } = new URL(first!);
  return decodeURIComponent(pathname.slice(1) || username || 'zoneplane');
}

/** Whoever wants TLS gets certificates that are checked: `pg` takes these modes so, and warns that it will not for ever. */
export function withStrictTls(url: string): string {
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}
