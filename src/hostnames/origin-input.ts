/** Where the traffic of a hostname goes, and what is noted with it, as a client sends it (v4: §10.2). Pure. */
import { parseIP } from '../base/ip.js';
import { hostnameFailure } from './errors.js';
import { parseHost } from './name.js';

/** Stands for the host the request asked for. */
const SNI_OF_REQUEST = ':request_host_header:';
const LONGEST_ORIGIN = 255;
const MOST_METADATA_OCTETS = 4096;

/** A host name; null for none. Throws 1415 to 1420. */
export function parseOrigin(input: string | null): string | null {
  if (input === null || input === '') return null;
  const options = { pointer: '/custom_origin_server' };
  if (input.length > LONGEST_ORIGIN) throw hostnameFailure('longOrigin', {}, options);
  if (parseIP(input) !== undefined) throw hostnameFailure('addressOrigin', {}, options);
  if (input.includes('*')) throw hostnameFailure('wildcardOrigin', {}, options);
  const name = parseHost(input);
  if (name === undefined) throw hostnameFailure('unreadableOrigin', {}, options);
  return name;
}

/** Throws 1418. */
export function parseOriginSni(input: string | null): string | null {
  if (input === null || input === '') return null;
  const name = input === SNI_OF_REQUEST ? input : parseHost(input);
  if (name === undefined) throw hostnameFailure('badSni', {}, { pointer: '/custom_origin_sni' });
  return name;
}

/** Throws 1401 for metadata that is too large. */
export function requireMetadataSize(metadata: Readonly<Record<string, string>>): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) <= MOST_METADATA_OCTETS) return;
  const reason = `it is larger than ${MOST_METADATA_OCTETS} octets`;
  throw hostnameFailure('badMetadata', { reason }, { pointer: '/custom_metadata' });
}
