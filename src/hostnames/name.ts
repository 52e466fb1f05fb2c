/** The names customers may have served: what a client sends, checked and brought into one form (v4: §10.2). Pure. */
import { parseIP } from '../base/ip.js';
import { isPublicSuffix } from '../control/rules/public-suffix.js';
import { domainToUnicode } from '../dns/idna.js';
import { hostnameFailure } from './errors.js';

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LONGEST_TEXT = 253;

/** No public authority issues for these (RFC 6761, RFC 6762, RFC 7686). */
const RESERVED_DOMAINS: readonly string[] = [
  'test',
  'example',
  'invalid',
  'localhost',
  'local',
  'internal',
  'onion',
  'arpa',
];
const EXAMPLE_DOMAINS: readonly string[] = ['example.com', 'example.net', 'example.org'];

/**
 * The name in lower case, without final dot; a wildcard keeps its `*.`. `publicNames`: the certificate comes from an authority
 * that issues for names of the Internet only. Throws 1407 to 1411.
 */
export function parseHostname(input: string, { publicNames }: { readonly publicNames: boolean }): string {
  if (input === '') throw badName('expected a host name');
  if (/[^\0-\x7f]/.test(input)) throw hostnameFailure('notAscii', {}, { pointer: '/hostname' });
  const name = input.toLowerCase().replace(/\.$/, '');
  const base = withoutWildcard(name);
  const fault = faultOf(name, base);
  if (fault !== undefined) throw badName(fault);
  if (publicNames) refuseReserved(base);
  // Names below suffixes that a company runs are names of its customers.
  if (!base.includes('.') || isPublicSuffix(base, false)) {
    throw hostnameFailure('publicSuffix', { name: base }, { pointer: '/hostname' });
  }
  return name;
}

/** The name whose records prove control over a hostname: a wildcard's parent. */
export function withoutWildcard(hostname: string): string {
  return hostname.startsWith('*.') ? hostname.slice(2) : hostname;
}

/** A host name a client gave for something else, in one form; undefined when it is none. */
export function parseHost(input: string): string | undefined {
  const name = input.toLowerCase().replace(/\.$/, '');
  return faultOf(name, name) === undefined ? name : undefined;
}

function badName(reason: string): Error {
  return hostnameFailure('badName', { reason }, { pointer: '/hostname' });
}

function faultOf(name: string, base: string): string | undefined {
  if (name.length > LONGEST_TEXT) return `it is longer than ${LONGEST_TEXT} characters`;
  if (parseIP(base) !== undefined) return 'it is an IP address';
  if (/[/:?#@]/.test(base)) return 'it is not a host name but a URL';
  const label = base.split('.').find((text) => !LABEL.test(text));
  if (label === '') return 'it has an empty label';
  if (label !== undefined) return `the label ${label.slice(0, 63)} is not one of a host name`;
  // Host names never end in a number: that would be an address (RFC 1123 §2.1).
  if (/(?:^|\.)\d+$/.test(base)) return 'it ends in a number';
  const foreign = base.split('.').find((text) => text.startsWith('xn--') && domainToUnicode(text) === text);
  return foreign === undefined ? undefined : `the label ${foreign} is not valid punycode`;
}

function refuseReserved(base: string): void {
  const top = base.slice(base.lastIndexOf('.') + 1);
  if (RESERVED_DOMAINS.includes(top)) throw hostnameFailure('reservedDomain', { name: top }, { pointer: '/hostname' });
  const example = EXAMPLE_DOMAINS.find((name) => base === name || base.endsWith(`.${name}`));
  if (example) throw hostnameFailure('exampleDomain', { name: example }, { pointer: '/hostname' });
}
