/** What a write in progress remembers of a zone it touches. */
import type { ServedRR } from '../../serving/served-rr.js';
import { type ServingSettings, type ServingZone, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import type { ChangeKind } from '../../store/log/changes.js';
import type { EditedRecord } from '../../store/log/edits.js';
import { proxiedOwners } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';

export interface TouchedOwner {
  readonly ownerKey: Uint8Array;
  /** What was served there before. */
  readonly before: readonly ServedRR[];
  /** Records were edited there; otherwise only settings, or targets of flattened names, that show there. */
  edited: boolean;
}

export interface TouchedZone {
  /** The row before the first edit; of a zone that is new, as it was added. */
  readonly before: ZoneRow;
  /** The same as it was served. */
  readonly serving: ServingZone;
  kind: ChangeKind | undefined;
  /** Records more. */
  records: number;
  /** By owner key. */
  readonly owners: Map<string, TouchedOwner>;
  readonly edited: EditedRecord[];
  /** Whether `edited` undoes everything. */
  undoable: boolean;
  /** Nothing was edited: the answers of flattened names changed with their targets. */
  derived: boolean;
  /** Whether the owners are all whose answers change. */
  told: boolean;
}

export function touchZone(before: ZoneRow, settings: ServingSettings): TouchedZone {
  return {
    before,
    serving: servingZone(before, settings),
    kind: undefined,
    records: 0,
    owners: new Map(),
    edited: [],
    undoable: true,
    derived: true,
    told: true,
  };
}

/** Columns of a zone that show at every proxied or flattened name, and those that show at the apex. */
const PROXIED_COLUMNS = new Set(['paused', 'zone_mode', 'http2', 'http3', 'flatten_all_cnames']);
const APEX_COLUMNS = new Set(['ns_ttl', 'multi_provider', 'name_server_mode', 'vanity_name_servers']);

/** Proxied names looked at when a setting concerns them all. */
const MOST_OWNERS = 1000;

/** Owners where a change of these columns shows, besides the SOA; `all` is false when they are too many to look at. */
export function ownersOfSettings(
  store: Store,
  { seq }: ZoneRow,
  columns: readonly string[],
): { readonly owners: readonly Uint8Array[]; readonly all: boolean } {
  const apex = columns.some((column) => APEX_COLUMNS.has(column)) ? [new Uint8Array(0)] : [];
  if (!columns.some((column) => PROXIED_COLUMNS.has(column))) return { owners: apex, all: true };
  const proxied = proxiedOwners(store, seq, MOST_OWNERS + 1);
  if (proxied.length > MOST_OWNERS) return { owners: apex, all: false };
  return { owners: [...apex, ...proxied.map((ownerKey) => new Uint8Array(ownerKey))], all: true };
}
