/** Names under which others register names: `com`, `co.uk`, `in-addr.arpa` (publicsuffix.org). Pure. */
import { getPublicSuffix } from 'tldts';

/**
 * Whether the name (lower-case ASCII, without the final dot) is a public suffix; a single label always is.
 * `withPrivate`: suffixes run by companies, such as `github.io`, also count.
 */
export function isPublicSuffix(name: string, withPrivate: boolean): boolean {
  return getPublicSuffix(name, { allowPrivateDomains: withPrivate, validateHostname: false }) === name;
}
