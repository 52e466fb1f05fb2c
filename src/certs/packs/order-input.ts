/** Parses a client's order of a certificate pack. Pure. */

import { badBody } from '../../control/kernel/errors.js';
import { parseHostName } from '../../control/rules/names.js';
import type { AuthorityName } from '../authority.js';
import { USUAL_DAYS } from '../certificates.js';

export interface PackOrder {
  /** A-labels, lower case; the zone's apex is one of them. */
  readonly hosts: readonly string[];
  readonly method: 'http' | 'txt';
  readonly authority: AuthorityName;
  readonly validityDays: number;
}

/** As sent by a client. */
export interface PackInput {
  readonly hosts: readonly string[];
  readonly validation_method: 'http' | 'txt';
  readonly validity_days: number;
  readonly certificate_authority: AuthorityName;
}

/** `zone`: its name. Throws 9207. */
export function parseOrder(input: PackInput, zone: string): PackOrder {
  const hosts = parseHosts(input.hosts, zone);
  requireMethod(input.validation_method, hosts);
  const { validation_method: method, certificate_authority: authority, validity_days: validityDays } = input;
  requireLifetime(authority, validityDays);
  return { hosts, method, authority, validityDays };
}

/** As the vendor has it: this authority offers one lifetime only. Throws 9207. */
function requireLifetime(authority: AuthorityName, days: number): void {
  if (authority !== 'lets_encrypt' || days === USUAL_DAYS) return;
  throw badBody(`lets_encrypt issues for ${USUAL_DAYS} days only`, '/validity_days');
}

/** A wildcard can be validated by DNS only (RFC 8555 §8.3). Throws 9207. */
export function requireMethod(method: 'http' | 'txt', hosts: readonly string[]): void {
  if (method === 'http' && hosts.some((host) => host.startsWith('*.'))) {
    throw badBody('a wildcard can only be validated with txt', '/validation_method');
  }
}

function parseHosts(input: readonly string[], zone: string): readonly string[] {
  const refuse = (reason: string): Error => badBody(reason, '/hosts');
  const hosts = input.map((item) => {
    const host = parseHost(item);
    if (host === undefined)
      throw refuse(`hosts contains ${JSON.stringify(item).slice(0, 80)}, which is not a host name`);
    const base = host.replace(/^\*\./, '');
    if (base !== zone && !base.endsWith(`.${zone}`)) throw refuse(`hosts contains ${host}, which is not in the zone`);
    return host;
  });
  if (!hosts.includes(zone)) throw refuse(`hosts must contain the name of the zone, ${zone}`);
  return [...new Set(hosts)];
}

function parseHost(text: string): string | undefined {
  if (!text.startsWith('*.')) return parseHostName(text);
  const base = parseHostName(text.slice(2));
  return base === undefined ? undefined : `*.${base}`;
}
