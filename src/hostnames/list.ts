/** Use case of listing the custom hostnames of a zone (v4: §10.5). */
import { type CertificateState, statesOfCertificates } from '../certs/certificate-state.js';
import { requireZone } from '../control/guard/access.js';
import type { Context, Page, PageQuery } from '../control/kernel/context.js';
import type { Condition } from '../store/condition.js';
import type { HostnameRow } from '../store/hostnames/hostnames.js';
import {
  matchHostname,
  matchHostnameId,
  matchOrigin,
  matchWildcard,
  matchWithSsl,
  selectHostnames,
} from '../store/hostnames/query.js';
import type { ZoneRow } from '../store/zones/zones.js';
import { hostnameFailure } from './errors.js';
import { type HostnameItem, hostnameItem } from './item.js';

export interface HostnameQuery extends PageQuery {
  readonly id?: string;
  /** Exclude each other, and `id`. */
  readonly hostname?: string;
  readonly exact?: string;
  readonly contain?: string;
  readonly startsWith?: string;
  /** With or without a certificate. */
  readonly ssl?: boolean;
  readonly wildcard?: boolean;
  readonly origin?: string;
  readonly sslStatus?: string;
  readonly status?: string;
  readonly authority?: string;
  /** In the order of their age unless given. */
  readonly order?: 'ssl' | 'ssl_status';
}

const DEFAULT_PER_PAGE = 20;

/** Throws 1435, 1437 and 1438. */
export async function listHostnames(ctx: Context, zoneId: string, query: HostnameQuery): Promise<Page<HostnameItem>> {
  requireOneFilter(query);
  const conditions = conditionsOf(query);
  const { page = 1, perPage = DEFAULT_PER_PAGE, direction = 'asc' } = query;
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    const offset = (page - 1) * perPage;
    if (!isDerived(query)) {
      const { rows, total } = selectHostnames(ctx.store, {
        zone: zone.seq,
        conditions,
        direction,
        limit: perPage,
        offset,
      });
      return { items: itemsOf(ctx, zone, rows), page, perPage, totalCount: total };
    }
    // The reported status depends on the certificate as well, so it is not a column.
    const { rows } = selectHostnames(ctx.store, {
      zone: zone.seq,
      conditions,
      direction: query.order ? 'asc' : direction,
    });
    const found = ordered(
      itemsOf(ctx, zone, rows).filter((item) => fits(item, query)),
      query,
    );
    return { items: found.slice(offset, offset + perPage), page, perPage, totalCount: found.length };
  });
}

function isDerived({ sslStatus, status, authority, order }: HostnameQuery): boolean {
  return [sslStatus, status, authority, order].some((value) => value !== undefined);
}

function requireOneFilter({ id, hostname, exact, contain, startsWith }: HostnameQuery): void {
  const given = Object.entries({
    id,
    hostname,
    'hostname.exact': exact,
    'hostname.contain': contain,
    'hostname.startsWith': startsWith,
  }).filter(([, value]) => value !== undefined);
  if (given.length > 1) throw hostnameFailure('mixedFilters', { name: given[0]![0], other: given[1]![0] });
}

function conditionsOf({ id, hostname, exact, contain, startsWith, ssl, wildcard, origin }: HostnameQuery): Condition[] {
  const whole = hostname ?? exact;
  return [
    ...(id === undefined ? [] : [matchHostnameId(requireUuid(id))]),
    ...(whole === undefined ? [] : [matchHostname('exact', whole.replace(/\.$/, ''))]),
    ...(contain === undefined ? [] : [matchHostname('contains', requirePart('hostname.contain', contain))]),
    ...(startsWith === undefined ? [] : [matchHostname('startswith', requirePart('hostname.startsWith', startsWith))]),
    ...(ssl === undefined ? [] : [matchWithSsl(ssl)]),
    ...(wildcard === undefined ? [] : [matchWildcard(wildcard)]),
    ...(origin === undefined ? [] : [matchOrigin(origin.toLowerCase())]),
  ];
}

function requireUuid(id: string): string {
  const lower = id.toLowerCase();
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(lower)) throw hostnameFailure('badId');
  return lower;
}

function requirePart(name: string, text: string): string {
  if (!/^[A-Za-z0-9.*_-]{1,255}$/.test(text)) throw hostnameFailure('badContain', { name });
  return text;
}

function itemsOf({ store, clock }: Context, zone: ZoneRow, rows: readonly HostnameRow[]): HostnameItem[] {
  const wanting = rows.filter(({ ssl }) => ssl !== null).map(({ id }) => id);
  const states = statesOfCertificates(store, 'hostname', wanting, clock.nowMs());
  return rows.map((row) => hostnameItem(store, row, zone, states.get(row.id)));
}

function fits(item: HostnameItem, { sslStatus, status, authority }: HostnameQuery): boolean {
  const certificate = item.ssl?.state;
  return (
    (status === undefined || item.status === status) &&
    (sslStatus === undefined || certificate?.status === sslStatus) &&
    (authority === undefined || (certificate !== undefined && authorityOf(certificate) === authority))
  );
}

/** The one in use, or else the one that was asked for. */
export function authorityOf({ authority, requestedAuthority }: CertificateState): string {
  return authority === '' ? requestedAuthority : authority;
}

function ordered(items: readonly HostnameItem[], { order, direction }: HostnameQuery): readonly HostnameItem[] {
  if (order === undefined) return items;
  const keyOf = ({ ssl }: HostnameItem): string =>
    order === 'ssl' ? (ssl === null ? '0' : '1') : (ssl?.state?.status ?? '');
  const sign = direction === 'desc' ? -1 : 1;
  // The sort keeps the order of those with the same key.
  return [...items].sort((a, b) => sign * (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0));
}
