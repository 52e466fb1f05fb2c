/** Of served zones: SPF, DKIM, DMARC, MTA-STS, BIMI and CAA records that do not do what they seem to say. */
import { createStoredJudge } from '../control/rules/policy-judge.js';
import { POLICY_TYPES } from '../policy-records/judge.js';
import { someOfTypes } from '../store/records/records.js';
import { findZone, servedZones } from '../store/zones/zones.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

/** Records that are read: of one zone, and of all. */
const MOST_OF_ZONE = 2000;
const MOST_READ = 20_000;
/** The most findings; `doctor` and the overview name only some of them. */
const MOST_FINDINGS = 200;
const BUDGET = { names: 2000, octets: 4 * 1024 * 1024 };

export function examinePolicies({ store, zones, settings }: Examined): Finding[] {
  const findings: Finding[] = [];
  let read = 0;
  for (const seq of servedZones(store)) {
    const zoneId = zones.idOf(seq);
    const zone = zoneId === undefined ? undefined : findZone(store, seq);
    if (zoneId === undefined || !zone) continue;
    const rows = someOfTypes(store, seq, POLICY_TYPES, Math.min(MOST_OF_ZONE, MOST_READ - read));
    read += rows.length;
    const reads = (other: number): boolean => zones.idOf(other) !== undefined;
    const judge = createStoredJudge({ store, settings, account: zone.account, reads, budget: BUDGET });
    for (const row of rows) {
      for (const { text, remedy } of judge(row)) {
        findings.push({ what: 'policies', verdict: 'warn', kind: 'policy-record', text, remedy, zoneId });
      }
    }
    if (read >= MOST_READ || findings.length >= MOST_FINDINGS) break;
  }
  return findings;
}
