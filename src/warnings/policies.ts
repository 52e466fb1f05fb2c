/** Of served zones: SPF, DKIM, DMARC, MTA-STS, BIMI and CAA records that do not do what they seem to say. */
import { toHex } from '../base/bytes.js';
import { createTurnQueue } from '../base/lists/turn-queue.js';
import { maySeeAccount } from '../control/guard/access.js';
import type { Actor } from '../control/guard/actor.js';
import { createStoredJudge } from '../control/rules/policy-judge.js';
import { POLICY_TYPES } from '../policy-records/judge.js';
import { allAccounts } from '../store/access/accounts.js';
import type { Store } from '../store/driver.js';
import { someOfTypes } from '../store/records/records.js';
import { type ServedZone, servedZonesOfAccounts } from '../store/zones/zones.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

/** Records that are read: of one zone, and of all. */
const MOST_OF_ZONE = 2000;
const MOST_READ = 20_000;
/** Zones whose records are read; as many of each account are considered. */
const MOST_ZONES = 10_000;
/** The most findings; `doctor` and the overview name only some of them. */
const MOST_FINDINGS = 200;
const BUDGET = { names: 2000, octets: 4 * 1024 * 1024 };

/** Accounts take turns, zone by zone, so that none takes the room of others, neither when records are read nor in the list of findings. */
export function examinePolicies({ store, actor, zones, settings }: Examined): Finding[] {
  const found = new Map<number, Finding[]>();
  let read = 0;
  for (const { zone: seq, account } of zonesInTurns(store, actor)) {
    const own = found.get(account) ?? [];
    const zoneId = own.length < MOST_FINDINGS ? zones.idOf(seq) : undefined;
    if (zoneId === undefined) continue;
    found.set(account, own);
    const rows = someOfTypes(store, seq, POLICY_TYPES, Math.min(MOST_OF_ZONE, MOST_READ - read));
    read += rows.length;
    const reads = (other: number): boolean => zones.idOf(other) !== undefined;
    const judge = createStoredJudge({ store, settings, account, reads, budget: BUDGET });
    for (const row of rows) {
      for (const { text, remedy } of judge(row)) {
        own.push({ what: 'policies', verdict: 'warn', kind: 'policy-record', text, remedy, zoneId });
      }
    }
    if (read >= MOST_READ) break;
  }
  const told = createTurnQueue<readonly [account: number, finding: Finding]>(([account]) => String(account));
  for (const [account, own] of found) for (const finding of own.slice(0, MOST_FINDINGS)) told.add([account, finding]);
  return told.take(MOST_FINDINGS).map(([, finding]) => finding);
}

/** Served zones of accounts of which the actor may see something. */
function zonesInTurns(store: Store, actor: Actor): ServedZone[] {
  const seen = allAccounts(store).filter(({ id }) => maySeeAccount(actor, toHex(id)));
  const accounts = new Set(seen.map(({ seq }) => seq));
  const queue = createTurnQueue<ServedZone>(({ account }) => String(account));
  for (const zone of servedZonesOfAccounts(store, MOST_ZONES)) if (accounts.has(zone.account)) queue.add(zone);
  return queue.take(MOST_ZONES);
}
