/** Where the traffic of a hostname goes, and what is noted with it, as a client sends it (v4: §10.2). Pure. */
import { parseIP } from '../base/ip.js';
import { hostnameFailure } from './errors.js';
import { parseHost } from './name.js';

/** Stands for the host the request asked for. */
const SNI_OF_REQUEST = ':request_host_header:';
const LONGEST_ORIGIN = 255;
const MOST_METADATA_OCTETS = 4096;

/** A host name; null for none. Throws 1415 to 1420. */
export function parseOrigin(input: unknown): string | null {
  if (input === null || input === '') return null;
  const options = { pointer: '/custom_origin_server' };
  if (typeof input !== 'string') throw hostnameFailure('unreadableOrigin', {}, options);
  if (input.length > LONGEST_ORIGIN) throw hostnameFailure('longOrigin', {}, options);
  if (parseIP(input) !== undefined) throw hostnameFailure('addressOrigin', {}, options);
  if (input.includes('*')) throw hostnameFailure('wildcardOrigin', {}, options);
  const name = parseHost(input);
  if (name === undefined) throw hostnameFailure('unreadableOrigin', {}, options);
  return name;
}

/** Throws 1418. */
export function parseOriginSni(input: unknown): string | null {
  if (input === null || input === '') return null;
  const name = input === SNI_OF_REQUEST ? input : typeof input === 'string' ? parseHost(input) : undefined;
  if (name === undefined) throw hostnameFailure('badSni', {}, { pointer: '/custom_origin_sni' });
  return name;
}

/** Texts by name, or null for none. Throws 1401. */
export function parseMetadata(input: unknown): Readonly<Record<string, string>> | null {
  if (input === null) return null;
  const refuse = (reason: string): Error => hostnameFailure('badMetadata', { reason }, { pointer: '/custom_metadata' });
  if (typeof input !== 'object' || Array.isArray(input)) throw refuse('expected an object');
  const entries = Object.entries(input as object);
  if (!entries.every(([, value]) => typeof value === 'string')) throw refuse('every value must be a text');
  if (Buffer.byteLength(JSON.stringify(input)) > MOST_METADATA_OCTETS) {
    throw refuse(`it is larger than ${MOST_METADATA_OCTETS} octets`);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}
