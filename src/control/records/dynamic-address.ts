/**
 * Use case: updates the address of a host as routers report it (the DynDNS2 protocol). The name has at most one address of each
 * family; other records at the name are never replaced.
 */
import { AppError } from '../../base/errors.js';
import { isUnspecified, type Network, parseIP, parseNetwork, printIP, unmappedIP } from '../../base/ip.js';
import { Type } from '../../dns/codes.js';
import { type RecordRow, recordsOfOwner } from '../../store/records/records.js';
import { requireZone } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { parseHostName, recordNameIn } from '../rules/names.js';
import { closestZone, permittedZones, zonesByName } from './permitted-zones.js';
import { changeRow, createRow } from './write.js';

/** The most names in one request. */
export const MOST_HOSTS = 20;
/** TTL of records made by updates, in seconds. */
const TTL = 60;
const IPV6_OCTETS = 16;

/** What to set at a name: an address, or the prefix of its IPv6 address, whose other bits stay. */
export type Wanted =
  | { readonly type: 'A' | 'AAAA'; readonly address: Uint8Array }
  | { readonly type: 'AAAA'; readonly network: Network };

/** The protocol's return code for one name; `detail`: the addresses, or the reason for a failure. */
export interface HostResult {
  readonly code: 'good' | 'nochg' | 'nohost' | 'notfqdn' | 'dnserr';
  readonly detail?: string;
}

/** Parses an address or an IPv6 prefix as routers send it; undefined if it is neither. */
export function parseWanted(text: string): Wanted | undefined {
  const parsed = parseIP(text);
  const address = parsed && unmappedIP(parsed);
  // Routers send `0.0.0.0` or `::` while they have no address.
  if (address && isUnspecified(address)) return undefined;
  if (address) return { type: address.length === IPV6_OCTETS ? 'AAAA' : 'A', address };
  const network = text.includes('/') ? parseNetwork(text) : undefined;
  return network?.address.length === IPV6_OCTETS ? { type: 'AAAA', network } : undefined;
}

/** Sets the addresses of one name. A refusal of this name becomes its code; throws errors that concern the whole request. */
export async function setDynamicAddress(ctx: Context, host: string, wanted: readonly Wanted[]): Promise<HostResult> {
  const name = parseHostName(host);
  if (name?.includes('.') !== true) return { code: 'notfqdn' };
  const found = closestZone(zonesByName(await permittedZones(ctx, 'write', name)), name);
  if (!found) return { code: 'nohost' };
  try {
    const { value } = await commit(found.ctx, (draft) => setAddresses(found.ctx, draft, found.zone.id, name, wanted));
    return value;
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return error.status === 403 ? { code: 'nohost' } : { code: 'dnserr', detail: error.message };
  }
}

function setAddresses(
  ctx: Context,
  edits: RecordEdits,
  zoneId: string,
  name: string,
  wanted: readonly Wanted[],
): HostResult {
  const zone = requireZone(ctx, zoneId);
  const owner = recordNameIn(`${name}.`, zone);
  if (!owner) return { code: 'nohost' };
  const rows = recordsOfOwner(ctx.store, zone.seq, owner.ownerKey);
  if (rows.some(({ type }) => type === Type.cname)) return { code: 'dnserr', detail: 'the name is an alias' };
  const told: string[] = [];
  const work: (() => void)[] = [];
  for (const one of wanted) {
    const code = one.type === 'A' ? Type.a : Type.aaaa;
    const own = rows.filter(({ type }) => type === code);
    if (own.length > 1) return { code: 'dnserr', detail: `the name has ${own.length} ${one.type} records` };
    const [row] = own;
    const address = 'address' in one ? one.address : row && joined(one.network, row);
    if (!address) return { code: 'dnserr', detail: 'a prefix needs an existing AAAA record, whose other bits stay' };
    const content = printIP(address);
    told.push(content);
    if (!row) work.push(() => void createRow(ctx, edits, zone, { name, type: one.type, content, ttl: TTL }));
    else if (row.content !== content) work.push(() => void changeRow(ctx, edits, zone, row, { content }, 'edit'));
  }
  for (const change of work) change();
  return { code: work.length === 0 ? 'nochg' : 'good', detail: told.join(',') };
}

/** Joins the prefix with the remaining bits of the stored address. */
function joined({ address, bits }: Network, { rdata }: RecordRow): Uint8Array {
  return rdata.map((octet, i) => {
    const mask = 0xff & ~(0xff >> Math.min(8, Math.max(0, bits - i * 8)));
    return (address[i]! & mask) | (octet & ~mask & 0xff);
  });
}
