/** Of signed zones: which ones resolvers reject, and which signatures end soon. */
import { isEntryPoint } from '../control/dnssec/ds.js';
import { agreedDs, parentOf } from '../control/dnssec/parent.js';
import {
  type DelegationHere,
  delegationHere,
  delegationTaken,
  isSameDs,
  wantedDs,
} from '../control/dnssec/parental-agent.js';
import { refreshSpanOfZone } from '../control/dnssec/state.js';
import { printInstant } from '../control/rules/instant.js';
import { isBogusBelow } from '../dnssec/delegation-states.js';
import { isSignedElsewhere } from '../serving/signing.js';
import type { ServingSettings } from '../serving/zone.js';
import { keysOfZone } from '../store/dnssec/keys.js';
import { earliestExpiry } from '../store/dnssec/signatures.js';
import { allDnssecZones, type DnssecZoneRow } from '../store/dnssec/zones.js';
import type { Store } from '../store/driver.js';
import { findZone, type ZoneRow } from '../store/zones/zones.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const what = 'dnssec';

/** Takes several statements: to be called inside a snapshot. */
export function examineSignedZones({ store, zones, settings, nowUs }: Examined): Finding[] {
  const rows = allDnssecZones(store).filter(({ phase, zone }) => phase === 'signed' && zones.idOf(zone) !== undefined);
  const findings = rows.flatMap((row) => {
    const zoneId = zones.idOf(row.zone)!;
    return examineZone(store, row, Math.floor(nowUs / 1e6), settings).map((finding) => ({ ...finding, zoneId }));
  });
  if (findings.length > 0 || rows.length === 0) return findings;
  const count = rows.length === 1 ? '1 zone is' : `${rows.length} zones are`;
  return [{ what, verdict: 'ok', text: `${count} signed, and no signature ends soon` }];
}

function examineZone(store: Store, row: DnssecZoneRow, now: number, settings: ServingSettings): Finding[] {
  const zone = findZone(store, row.zone)!;
  const bogus = [...examineParent(store, zone, settings), ...examineClock(zone, row, now)];
  const expiry = earliestExpiry(store, row.zone);
  // Signatures are replaced when this much is left; when half of it is, the job has not run for days.
  const span = refreshSpanOfZone(zone, row, settings.nameServers);
  if (expiry === undefined || expiry - now > span / 2) return bogus;
  const isOver = expiry <= now;
  const finding: Finding = {
    what,
    kind: 'signatures-ending',
    verdict: isOver ? 'fail' : 'warn',
    text: `${zone.name}: the first signature ${isOver ? 'ended' : 'ends'} at ${printInstant(expiry * 1e6)}`,
    remedy: isSignedElsewhere(row)
      ? 'The zone is signed elsewhere: import it again (`zoneplane zone import --replace --presigned`).'
      : 'Signatures are replaced by a job: see `zoneplane job list --failed`, and whether the clock is right.',
  };
  return [...bogus, finding];
}

/** Whether the clock was ahead when the zone was signed, or is behind now. */
function examineClock({ name }: ZoneRow, { newest_inception: newest }: DnssecZoneRow, now: number): Finding[] {
  if (newest <= now) return [];
  const text = `${name}: signatures are valid only from ${printInstant(newest * 1e6)} on, but the clock says ${printInstant(now * 1e6)}`;
  const remedy = `Set the clock if it is wrong. If it is right, a running server replaces them by itself; \`zoneplane dnssec resign ${name}\` replaces all.`;
  return [{ what, kind: 'signatures-early', verdict: 'fail', text, remedy }];
}

function examineParent(store: Store, zone: ZoneRow, settings: ServingSettings): Finding[] {
  const { seq, apex, name } = zone;
  const dnskeys = keysOfZone(store, seq).filter((key) => key.published === 1 && isEntryPoint(key));
  const keys = dnskeys.map((key) => key.public);
  const here = delegationHere({ store, settings }, zone);
  // What stands in a zone here is known better than what was found at the last look.
  const agreed = here ? here.ds.map(({ rdata }) => rdata) : agreedDs(parentOf(store, seq));
  if (!isBogusBelow(agreed, apex, keys)) return here ? examineParentHere(store, zone, here, settings) : [];
  return [
    {
      what,
      kind: 'ds-without-key',
      verdict: 'fail',
      text: `${name}: the DS records at the parent point to no key of the zone, so resolvers reject all of its answers`,
      remedy: `Replace them by the DS record that \`zoneplane dnssec status ${name}\` shows, or remove them.`,
    },
  ];
}

/** Whether a parent zone that is served here has the DS records for which the zone asks. */
function examineParentHere(
  store: Store,
  zone: ZoneRow,
  { parent, ds }: DelegationHere,
  settings: ServingSettings,
): Finding[] {
  const wanted = wantedDs({ store, settings }, zone);
  if (!wanted || isSameDs(ds, wanted)) return [];
  const where = `${parent.name}, which is served here`;
  const text =
    wanted.length === 0
      ? `${zone.name}: its parent ${where}, still has a DS record, and the zone asks for its removal`
      : ds.length === 0
        ? `${zone.name}: its parent ${where}, has no DS record of it, so nobody checks its signatures`
        : `${zone.name}: its parent ${where}, has other DS records than those for which the zone asks`;
  const remedy = delegationTaken({ store, settings }, zone)
    ? 'The parent takes them by itself: a running server looks every minute while something is expected; see `zoneplane job list --failed`.'
    : `Change the DS records of ${zone.name} in ${parent.name} (\`zoneplane dnssec keys ${zone.name}\`), or let it take them: \`zoneplane dnssec enable ${parent.name} --parental-agent on\`.`;
  return [{ what, kind: 'ds-not-as-asked', verdict: 'warn', text, remedy }];
}
