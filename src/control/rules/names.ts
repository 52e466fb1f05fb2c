/** Turns clients' record names into names inside a zone (v4: §5.6). Pure. */
import { domainToAscii } from '../../dns/idna.js';
import { MAX_LABEL_LENGTH, NameError, ownerKeyOf, parseName } from '../../dns/name.js';
import { reverseZoneInstead } from './reverse-zone.js';

/** The parts of a zone that rules about names need. */
export interface ZoneName {
  /** Lower-case ASCII, without the final dot. */
  readonly name: string;
  /** Wire name, lower case. */
  readonly apex: Uint8Array;
}

export interface RecordName {
  /** FQDN, lower-case ASCII, without the final dot. */
  readonly name: string;
  readonly wire: Uint8Array;
  readonly ownerKey: Uint8Array;
}

/** The first and last character are a letter, digit or underscore; `*` may be first (v4: §5.6 step 5). */
const LABEL = /^[a-z0-9_*](?:[a-z0-9_-]*[a-z0-9_])?$/;
/** Classless delegation in reverse zones writes networks as labels: `0/25` (RFC 2317 §4). */
const REVERSE_LABEL = /^[a-z0-9_*](?:[a-z0-9_/-]*[a-z0-9_])?$/;
const LONGEST_TEXT = 253;

/**
 * The name of a record in a zone: relative, absolute, `@`, empty, any case, Unicode. Undefined when it is invalid, or
 * absolute (with final dot) outside the zone.
 */
export function recordNameIn(input: string, zone: ZoneName): RecordName | undefined {
  const trimmed = input.trim();
  if (trimmed === '' || trimmed === '@') return nameInZone(zone.name, zone);
  const absolute = trimmed.endsWith('.');
  const ascii = domainToAscii(absolute ? trimmed.slice(0, -1) : trimmed)?.toLowerCase();
  if (ascii === undefined || ascii === '') return undefined;
  if (ascii === zone.name || ascii.endsWith(`.${zone.name}`)) return nameInZone(ascii, zone);
  return absolute ? undefined : nameInZone(`${ascii}.${zone.name}`, zone);
}

function nameInZone(name: string, zone: ZoneName): RecordName | undefined {
  if (name.length > LONGEST_TEXT) return undefined;
  const label = zone.name.endsWith('.arpa') ? REVERSE_LABEL : LABEL;
  const own = name === zone.name ? [] : name.slice(0, -zone.name.length - 1).split('.');
  if (!own.every((text) => text.length <= MAX_LABEL_LENGTH && label.test(text))) return undefined;
  const wire = parseName(`${name}.`);
  return { name, wire, ownerKey: ownerKeyOf(wire, zone.apex) };
}

/**
 * A zone's name from Unicode or punycode, any case, with or without the final dot; or the reason why it is invalid. A label may be
 * `*`: zone files have such zones (RFC 4592 §4.1), although clients cannot create them.
 */
export function parseZoneName(
  input: string,
): { readonly name: string; readonly apex: Uint8Array } | { reason: string } {
  const trimmed = input.trim().replace(/[.\u3002]$/u, '');
  const name = domainToAscii(trimmed)?.toLowerCase();
  if (name === undefined) return { reason: 'it has characters that no domain name may have' };
  if (name === '') return { reason: 'it is empty' };
  if (name.length > LONGEST_TEXT) return { reason: `it is longer than ${LONGEST_TEXT} characters` };
  const label = name.endsWith('.arpa') ? REVERSE_LABEL : LABEL;
  for (const text of name.split('.')) {
    if (text === '') return { reason: 'it has an empty label' };
    if (text.length > MAX_LABEL_LENGTH)
      return { reason: `the label ${text.slice(0, 20)}… is longer than 63 characters` };
    if (!label.test(text) || (text.includes('*') && text !== '*')) return badLabel(text);
  }
  // Names of hosts and zones never end in a number, which would make them addresses (RFC 1123 §2.1).
  if (/(?:^|\.)\d+$/.test(name)) return { reason: 'it ends in a number' };
  try {
    return { name, apex: parseName(`${name}.`) };
  } catch (error) {
    if (error instanceof NameError) return { reason: error.message };
    throw error;
  }
}

/** The name of a zone that a client creates; as {@link parseZoneName}. For a network, the reason names its reverse zone. */
export function parseNewZoneName(input: string): ReturnType<typeof parseZoneName> {
  const instead = reverseZoneInstead(input.trim());
  if (instead !== undefined) return { reason: instead };
  const parsed = parseZoneName(input);
  return 'name' in parsed && parsed.name.includes('*') ? badLabel('*') : parsed;
}

function badLabel(text: string): { reason: string } {
  if (text.startsWith('-') || text.endsWith('-')) return { reason: `the label ${text} begins or ends with a hyphen` };
  if (text === '*') return { reason: `the label ${text} is a wildcard, which only records may have` };
  return { reason: `the label ${text} has characters other than letters, digits, hyphens and underscores` };
}

/** A client's host name (name servers, SOA mailbox) as lower-case ASCII without the final dot, or undefined. */
export function parseHostName(input: string): string | undefined {
  const parsed = parseNewZoneName(input);
  return 'name' in parsed ? parsed.name : undefined;
}

/** A name without its final dot in wire form; undefined: no name is like that. */
export function wireName(name: string): Uint8Array | undefined {
  try {
    return parseName(`${name}.`);
  } catch (error) {
    if (error instanceof NameError) return undefined;
    throw error;
  }
}
