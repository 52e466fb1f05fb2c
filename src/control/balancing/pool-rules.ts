/** Rules of pools and their origins. */
import type { Members } from '../../balancing/members.js';
import { memberOr, membersOf } from '../../balancing/members.js';
import type { StoredOrigin } from '../../balancing/pool.js';
import { REGIONS } from '../../balancing/region-codes.js';
import { equalBytes } from '../../base/bytes.js';
import { parseIP, printIP, unmappedIP } from '../../base/ip.js';
import { parseHostName } from '../rules/names.js';
import { hostOf, requireRange, requireText, requireWeight, requireWhole } from './check.js';
import { invalid } from './errors.js';

/** Members of which null says something. */
export const NULLABLE_OF_POOL = [
  'check_regions',
  'health_sources',
  'load_shedding',
  'origin_steering',
  'notification_filter',
];

const NAME = /^[A-Za-z0-9_-]{1,63}$/;
const ORIGIN_NAME = /^[A-Za-z0-9_.-]{1,63}$/;
const MOST_ADDRESSES = 20;

/** What of the context rules of pools need. */
export interface PoolLimits {
  readonly originsPerPool: number;
  /** Addresses of this service, where no origin can be. */
  readonly ownAddresses: readonly Uint8Array[];
}

/** Throws 1002 for a pool that means nothing. */
export function checkPool(members: Members, limits: PoolLimits): void {
  const name = memberOr(members, 'name', '');
  if (!NAME.test(name)) throw invalid('name is not 1 to 63 letters, digits, hyphens and underscores', '/name');
  requireText(members, 'description', 1000);
  checkOrigins(memberOr<readonly StoredOrigin[]>(members, 'origins', []), limits);
  requireWhole(members, 'minimum_origins', { least: 0, most: limits.originsPerPool });
  if (memberOr(members, 'monitor', '') !== '' && memberOr(members, 'monitor_group', '') !== '') {
    throw invalid('monitor and monitor_group are both set', '/monitor_group');
  }
  checkRegions(members);
  checkPlace(members);
  const shedding = membersOf(members, 'load_shedding');
  requireRange(shedding, 'default_percent', { least: 0, most: 100 }, '/load_shedding');
  requireRange(shedding, 'session_percent', { least: 0, most: 100 }, '/load_shedding');
  checkMail(memberOr(members, 'notification_email', ''));
}

function checkOrigins(origins: readonly StoredOrigin[], limits: PoolLimits): void {
  const most = limits.originsPerPool;
  if (origins.length < 1 || origins.length > most) {
    throw invalid(`the origin list length must be in range [1, ${most}]`, '/origins');
  }
  const names = new Set<string>();
  const places = new Set<string>();
  for (const [i, origin] of origins.entries()) {
    const at = `/origins/${i}`;
    if (!ORIGIN_NAME.test(origin.name)) {
      throw invalid('origin name is not 1 to 63 letters, digits, dots, hyphens and underscores', `${at}/name`);
    }
    if (names.has(origin.name)) throw invalid(`origin name ${origin.name} is not unique`, `${at}/name`);
    names.add(origin.name);
    const address = checkAddress(origin.address, limits.ownAddresses, `${at}/address`);
    requireWhole(origin as unknown as Members, 'port', { least: 0, most: 65_535 }, at);
    const place = `${address} ${origin.port ?? 0}`;
    if (places.has(place)) {
      throw invalid(`origin address ${origin.address} with port ${origin.port ?? 0} is not unique`, `${at}/address`);
    }
    places.add(place);
    requireWeight(origin.weight, 'weight', `${at}/weight`);
    checkOriginHeader(origin, at);
  }
}

/** An address in the form in which addresses are compared. */
function checkAddress(text: string, own: readonly Uint8Array[], at: string): string {
  const ip = parseIP(text);
  if (!ip) {
    const name = parseHostName(text);
    if (name === undefined) {
      throw invalid(`origin address ${JSON.stringify(text.slice(0, 80))} is neither an address nor a host name`, at);
    }
    return name;
  }
  const plain = unmappedIP(ip);
  if (own.some((address) => equalBytes(address, plain))) {
    throw invalid(`origin address ${text} is an address of this service`, at);
  }
  return printIP(plain);
}

function checkOriginHeader(origin: StoredOrigin, at: string): void {
  const network = (origin as { readonly virtual_network_id?: string }).virtual_network_id;
  if (network) throw invalid('virtual_network_id is not available here', `${at}/virtual_network_id`);
  const host = origin.header?.Host;
  if (host === undefined || host === null) return;
  if (host.length !== 1 || hostOf(host[0]!) === undefined) {
    throw invalid('origin header Host is not one host name', `${at}/header/Host`);
  }
}

function checkRegions(members: Members): void {
  const regions = memberOr<readonly string[] | undefined>(members, 'check_regions', undefined);
  const known = [...REGIONS, 'ALL_REGIONS'] as readonly string[];
  for (const [i, region] of (regions ?? []).entries()) {
    if (!known.includes(region)) throw invalid(`check_regions has ${region.slice(0, 20)}`, `/check_regions/${i}`);
  }
  if (regions && new Set(regions).size < regions.length)
    throw invalid('check_regions has a region twice', '/check_regions');
  const sources = memberOr<readonly string[] | undefined>(members, 'health_sources', undefined);
  if (!sources) return;
  const isKnown = sources.length === 2 && sources.includes('regional') && sources.includes('global');
  if (!isKnown) throw invalid('health_sources is not null or ["regional", "global"]', '/health_sources');
  if (!regions?.length) throw invalid('health_sources needs at least one of check_regions', '/health_sources');
}

function checkPlace(members: Members): void {
  requireRange(members, 'latitude', { least: -90, most: 90 });
  requireRange(members, 'longitude', { least: -180, most: 180 });
  const [latitude, longitude] = [members.latitude ?? undefined, members.longitude ?? undefined];
  if ((latitude === undefined) !== (longitude === undefined)) {
    throw invalid('latitude and longitude are not both set', latitude === undefined ? '/latitude' : '/longitude');
  }
}

function checkMail(text: string): void {
  if (text === '') return;
  const addresses = text.split(',').map((part) => part.trim());
  const isMail = (part: string): boolean => /^[^\s@,\p{Cc}]{1,64}@[^\s@,\p{Cc}]{1,190}$/u.test(part);
  if (addresses.length > MOST_ADDRESSES || !addresses.every(isMail)) {
    throw invalid(`notification_email is not a list of at most ${MOST_ADDRESSES} addresses`, '/notification_email');
  }
}
