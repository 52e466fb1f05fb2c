/** The records of a catalog zone (RFC 9432 §4). */
import { fromHex, toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import { parseName } from '../../dns/name.js';
import { parseRdata } from '../../dns/rr/registry.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import type { MemberRow } from '../../store/secondary/catalogs.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { createRowMaker } from '../imports/row.js';
import type { ControlLimits } from '../kernel/context.js';

/** Of a catalog nobody but its consumers makes use, so nothing is cached. */
const TTL = 0;
const VERSION = '2';

/** A member, with the name of the catalog zone to which it goes over. */
export type Member = MemberRow & { readonly movesTo: string | undefined };

export interface CatalogContent {
  /** The records that every catalog has. */
  readonly head: () => readonly ImportedRow[];
  readonly recordsOf: (member: Member) => readonly ImportedRow[];
}

export function contentOf({ name, apex }: ZoneRow, limits: ControlLimits): CatalogContent {
  const rows = createRowMaker({ apex, limits, proxied: false, oneIsAutomatic: false });
  const record = (owner: string, type: number, text: string): ImportedRow =>
    rows.rowOf({
      owner: parseName(`${owner}${name}.`),
      type,
      ttl: TTL,
      rdata: parseRdata(type, text, apex),
      line: 0,
      column: 0,
      file: undefined,
      comment: undefined,
      flattened: false,
    });
  return {
    // There is no name server that could be named (RFC 9432 §4.1).
    head: () => [record('', Type.ns, 'invalid.'), record('version.', Type.txt, quoted(VERSION))],
    recordsOf({ member_id: id, name: zone, grp, movesTo }) {
      const owner = `${toHex(id)}.zones.`;
      return [
        record(owner, Type.ptr, `${zone}.`),
        ...(grp === null ? [] : [record(`group.${owner}`, Type.txt, quoted(grp))]),
        ...(movesTo === undefined ? [] : [record(`coo.${owner}`, Type.ptr, `${movesTo}.`)]),
      ];
    },
  };
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Owner keys of all members begin with the first; the second is the first key after them. */
export const MEMBERS_FROM = Buffer.from('zones\0');
export const MEMBERS_TO = Buffer.from('zones\x01');
const ID_DIGITS = 32;

/** The owner keys at which a member has records. */
export function ownersOf(memberId: Uint8Array): readonly Uint8Array[] {
  const own = Buffer.concat([MEMBERS_FROM, Buffer.from(`${toHex(memberId)}\0`)]);
  return [own, ...['coo', 'group'].map((label) => Buffer.concat([own, Buffer.from(`${label}\0`)]))];
}

/** The member to which the records of an owner belong. */
export function memberAt(ownerKey: Uint8Array): Uint8Array | undefined {
  const at = MEMBERS_FROM.length;
  return fromHex(Buffer.from(ownerKey.subarray(at, at + ID_DIGITS)).toString('latin1'));
}
