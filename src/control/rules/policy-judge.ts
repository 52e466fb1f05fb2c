/** Judges stored policies, such as SPF and CAA records, by what the zones of their account say. */
import { toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import type { PolicyFault } from '../../policy-records/fault.js';
import { createJudge, joinStrings, POLICY_TYPES } from '../../policy-records/judge.js';
import type { Budget, KnownNames } from '../../policy-records/known.js';
import { type Located, locate } from '../../serving/look-up.js';
import { recordsAtOwner } from '../../serving/owner.js';
import { type ServingSettings, type ServingZone, servingZone } from '../../serving/zone.js';
import { loadBalancerAt } from '../../store/balancing/load-balancers.js';
import type { Store } from '../../store/driver.js';
import type { NewRecordRow } from '../../store/records/records.js';
import { zoneAround } from './account-zone.js';
import { wireName } from './names.js';

export type StoredJudge = (record: Pick<NewRecordRow, 'name' | 'type' | 'rdata'>) => readonly PolicyFault[];

export interface JudgeOrder {
  readonly store: Store;
  readonly settings: ServingSettings;
  /** Store number. */
  readonly account: number;
  /** Whether the asker may read all records of a zone (store number); what others say is not known. */
  readonly reads: (zone: number) => boolean;
  readonly budget?: Budget;
}

/** Records that are read for one judge, whatever the names say; behind them, nothing is known. */
const MOST_RECORDS = 10_000;

/** The state of one moment: for use inside one snapshot or write. */
export function createStoredJudge(order: JudgeOrder): StoredJudge {
  let judge: ReturnType<typeof createJudge> | undefined;
  return (record) => {
    if (!POLICY_TYPES.includes(record.type)) return [];
    judge ??= createJudge(namesOfAccount(order), order.budget);
    return judge(record);
  };
}

/** Names of other accounts are not known here: what their zones say is theirs. */
function namesOfAccount({ store, settings, account, reads }: JudgeOrder): KnownNames {
  const zones = new Map<number, ServingZone>();
  const owners = new Map<string, ReturnType<typeof recordsAtOwner>>();
  let left = MOST_RECORDS;
  // The owners above a name are read with it, and may have thousands of records.
  const readOwner: typeof recordsAtOwner = (_, zone, ownerKey) => {
    const key = `${zone.seq} ${toHex(ownerKey)}`;
    const records = owners.get(key) ?? recordsAtOwner(store, zone, ownerKey);
    if (!owners.has(key)) left -= records.length;
    owners.set(key, records);
    return records;
  };
  const look = (name: string, type: number): (Located & { readonly zone: number }) | undefined => {
    const row = left > 0 ? zoneAround(store, account, name) : undefined;
    if (!row || !reads(row.seq) || (row.type !== 'full' && row.type !== 'secondary')) return undefined;
    const wire = wireName(name);
    if (!wire) return undefined;
    let zone = zones.get(row.seq);
    if (!zone) zones.set(row.seq, (zone = servingZone(store, row, settings)));
    const located = locate(store, zone, wire, type, readOwner);
    const isElsewhere = located.kind === 'cut' || located.kind === 'dname';
    return isElsewhere ? undefined : { ...located, zone: row.seq };
  };
  return {
    texts(name) {
      const found = look(name, Type.txt);
      if (!found || found.kind === 'nowhere') return found && [];
      if (found.records.some(({ type }) => type === Type.cname)) return undefined;
      return found.records.filter(({ type }) => type === Type.txt).map(({ rdata }) => joinStrings(rdata));
    },
    count(name, what) {
      const found = look(name, what === 'mx' ? Type.mx : Type.a);
      if (!found || found.kind === 'nowhere') return found && 0;
      const some = (...types: number[]): number => found.records.filter(({ type }) => types.includes(type)).length;
      if (some(Type.cname) > 0) return what === 'address' ? 1 : undefined;
      if (what === 'mx') return some(Type.mx);
      return some(Type.a, Type.aaaa) + Number(loadBalancerAt(store, found.zone, found.ownerKey) !== undefined);
    },
  };
}
