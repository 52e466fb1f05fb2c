/** Reads the records of a catalog zone of another server (RFC 9432 §4). Pure. */
import { Type } from '../../dns/codes.js';
import { labelCount, labelsOf, nameOfOwnerKey, toFqdn } from '../../dns/name.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import type { RecordRow } from '../../store/records/records.js';

export interface ListedMember {
  /** Of the zone: lower case, without the final dot. */
  readonly name: string;
  /** The label under which it stands, lower case. */
  readonly memberId: string;
  /** Its groups, with commas between them; null: none. */
  readonly group: string | null;
  /** Name of the catalog to which it goes over (RFC 9432 §4.3.1). */
  readonly movesTo: string | null;
}

export type CatalogContent =
  | { readonly members: readonly ListedMember[] }
  /** The catalog is broken, and must not be followed (RFC 9432 §5.1). */
  | { readonly fault: string };

type Read = Pick<RecordRow, 'owner_key' | 'type' | 'rdata'>;

/** The version that this program knows. */
const VERSION = '2';
const MOST_MEMBERS = 100_000;
const TOO_MANY = `it has more than ${MOST_MEMBERS} members, which is the limit`;
/** Identifiers, with those whose properties belong to nobody. */
const MOST_IDS = 2 * MOST_MEMBERS;
const MOST_GROUPS = 255;

interface Properties {
  readonly zones: string[];
  readonly groups: string[];
  readonly moves: string[];
}

/** Step by step. `apex`: of the catalog zone. Names and types that are not known are ignored (RFC 9432 §4.4). */
export function* readCatalog(apex: Uint8Array, records: Iterable<Read>): Generator<undefined, CatalogContent> {
  const versions: string[] = [];
  const found = new Map<string, Properties>();
  const propertiesOf = (id: string): Properties => {
    const known = found.get(id) ?? { zones: [], groups: [], moves: [] };
    found.set(id, known);
    return known;
  };
  for (const { owner_key: ownerKey, type, rdata } of records) {
    yield;
    if (found.size > MOST_IDS) return { fault: TOO_MANY };
    const labels = labelsBelow(nameOfOwnerKey(ownerKey, apex), apex);
    const [first = '', second = '', third = ''] = labels;
    if (labels.length === 1 && first === 'version' && type === Type.txt) versions.push(textOf(rdata));
    else if (labels.length === 2 && second === 'zones' && type === Type.ptr)
      propertiesOf(first).zones.push(nameOf(rdata));
    else if (labels.length === 3 && third === 'zones') {
      if (first === 'group' && type === Type.txt) propertiesOf(second).groups.push(textOf(rdata));
      else if (first === 'coo' && type === Type.ptr) propertiesOf(second).moves.push(nameOf(rdata));
    }
  }
  const fault = versionFault(versions);
  return fault === undefined ? yield* membersOf(found) : { fault };
}

/** RFC 9432 §4.2.1. */
function versionFault(versions: readonly string[]): string | undefined {
  if (versions.length === 0) return 'it has no TXT record at version, so it is not a catalog zone';
  if (versions.length > 1) return `it has ${versions.length} TXT records at version, and not one`;
  const [version = ''] = versions;
  return version === VERSION ? undefined : `it has the version ${JSON.stringify(version.slice(0, 20))}; known is "2"`;
}

function* membersOf(found: ReadonlyMap<string, Properties>): Generator<undefined, CatalogContent> {
  const members = new Map<string, ListedMember>();
  for (const [memberId, { zones, groups, moves }] of found) {
    yield;
    // Properties of what is not a member are of no use.
    const [name] = zones;
    if (name === undefined) continue;
    if (zones.length > 1)
      return { fault: `the member ${memberId} has ${zones.length} ${typeMnemonic(Type.ptr)} records` };
    if (moves.length > 1) return { fault: `the member ${memberId} goes over to ${moves.length} catalogs` };
    const twin = members.get(name);
    if (twin) return { fault: `${name} is a member twice, as ${twin.memberId} and as ${memberId}` };
    const group = groups.length === 0 ? null : groups.sort().join(',').slice(0, MOST_GROUPS);
    members.set(name, { name, memberId, group, movesTo: moves[0] ?? null });
    if (members.size > MOST_MEMBERS) return { fault: TOO_MANY };
  }
  return { members: [...members.values()] };
}

/** As presentation text, lower case; dots inside a label make no other labels. */
function labelsBelow(name: Uint8Array, apex: Uint8Array): string[] {
  const own = labelsOf(name);
  return own
    .slice(0, own.length - labelCount(apex))
    .map((label) => Buffer.from(label).toString('latin1').toLowerCase());
}

/** The character-strings of TXT, one after the other. */
function textOf(rdata: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < rdata.length; at += 1 + rdata[at]!) {
    parts.push(Buffer.from(rdata.subarray(at + 1, at + 1 + rdata[at]!)).toString('latin1'));
  }
  return parts.join('');
}

function nameOf(rdata: Uint8Array): string {
  return toFqdn(rdata).toLowerCase();
}
