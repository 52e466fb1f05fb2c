/** A rename in a signed zone: what did not change keeps its signatures. */
import t from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { changeDenial } from '../../../src/control/dnssec/switch-denial.js';
import { commit } from '../../../src/control/kernel/commit.js';
import { createRecord, deleteRecord, editRecord } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { type DenialKind, findDnssecZone } from '../../../src/store/dnssec/zones.js';
import { findChange, lastChange, rrsOfChange } from '../../../src/store/log/changes.js';
import { findZone, findZoneByName } from '../../../src/store/zones/zones.js';
import { enableSigning } from '../../support/signing.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const NAMES = ['a', 'c', 'e', 'g', 'i', 'x.deep', 'y.deep'];
/** One behind its place, to another place, to a name that is there, from a name that stays, below others, and back. */
const RENAMES: readonly (readonly [from: string, to: string])[] = [
  ['c', 'd'],
  ['d', 'h'],
  ['h', 'g'],
  ['e', 'f'],
  ['a', 'z.deep'],
  ['z.deep', 'a'],
];

for (const denial of ['nsec', 'nsec3'] as const satisfies DenialKind[]) {
  t.test(denial, async (t) => {
    const { ctx: fixture } = await startControl(t);
    const ctx = { ...fixture, zoneKeys: await testZoneKeys(fixture.store, fixture.random) };
    const { id: zone } = await createZone(ctx, { name: 'r.test' });
    const ids = new Map<string, string>();
    for (const [index, name] of NAMES.entries()) {
      const content = `192.0.2.${index}`;
      ids.set(name, (await createRecord(ctx, zone, { type: 'A', name, content, ttl: 300 })).id);
    }
    // Names with several RRsets, of which one goes.
    for (const name of ['e', 'g']) await createRecord(ctx, zone, { type: 'TXT', name, content: '"x"', ttl: 300 });
    await enableSigning(ctx, zone);
    if (denial === 'nsec3') {
      const { seq } = findZoneByName(ctx.store, 'r.test')!;
      await commit(ctx, (draft) => changeDenial(ctx, draft, findZone(ctx.store, seq)!, denial));
      const { signal } = new AbortController();
      const job = { store: ctx.store, clock: ctx.clock, log: ctx.log, attempt: 0, signal, requireLease: () => {} };
      for (let run = 0; findDnssecZone(ctx.store, seq)!.denial !== denial && run < 10; run++)
        await signingJob(ctx).handler(job, zone);
      t.equal(findDnssecZone(ctx.store, seq)!.denial, denial);
    }
    /** RRsets, by owner and type, whose signatures the last change replaced although nothing else of them changed. */
    const signedAgain = (): string[] => {
      const rows = rrsOfChange(ctx.store, findChange(ctx.store, lastChange(ctx.store))!);
      t.ok(rows.length > 4, 'it is in the log of changes');
      const changed = new Map<string, number>();
      const signed = new Set<string>();
      for (const { op, owner_key, type, rdata } of rows.filter((rr) => rr.type !== Type.soa)) {
        const owner = toHex(owner_key);
        if (type === Type.rrsig) signed.add(`${owner} ${(rdata[0]! << 8) | rdata[1]!}`);
        // What is removed and added as it was did not change.
        else {
          const key = `${owner} ${type} ${Buffer.from(rdata).toString('hex')}`;
          changed.set(key, (changed.get(key) ?? 0) + (op === 1 ? 1 : -1));
        }
      }
      const really = [...changed].filter(([, count]) => count !== 0).map(([key]) => key.split(' ', 2).join(' '));
      return [...signed].filter((set) => !really.includes(set) && set !== ` ${Type.soa}`);
    };
    for (const [from, to] of RENAMES) {
      const id = ids.get(from)!;
      if (ids.has(to)) await deleteRecord(ctx, zone, ids.get(to)!);
      await editRecord(ctx, zone, id, { name: to });
      t.strictSame(signedAgain(), [], `${from} to ${to}`);
      ids.delete(from);
      ids.set(to, id);
    }
  });
}
