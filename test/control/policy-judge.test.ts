/** What a judge of policies reads of a zone. */
import t from 'tap';
import { applyBatch } from '../../src/control/records/batch.js';
import { createStoredJudge } from '../../src/control/rules/policy-judge.js';
import { Type } from '../../src/dns/codes.js';
import { recordsOfZone } from '../../src/store/records/records.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startZone } from './fixture.js';

t.test('each owner of a zone is read once, however many policies lead below it', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const posts = Array.from({ length: 50 }, (_, i) => ({
    type: 'TXT',
    name: `m${i}.deep.example.com`,
    content: `"v=spf1 include:n${i}.deep.example.com -all"`,
  }));
  await applyBatch(ctx, zoneId, { posts }, 'posts');
  const owners: string[] = [];
  const store = Object.assign(Object.create(ctx.store) as typeof ctx.store, {
    prepareTuples(sql: string) {
      const statement = ctx.store.prepareTuples<never[], unknown[]>(sql);
      if (!/AND owner_key = \? ORDER BY type, rdata_key/.test(sql)) return statement;
      const noted = (values: unknown[]): never[] => {
        owners.push(Buffer.from(values[1] as Uint8Array).toString('latin1'));
        return values as never[];
      };
      return {
        get: (...values: unknown[]) => statement.get(...noted(values)),
        all: (...values: unknown[]) => statement.all(...noted(values)),
      };
    },
  });
  const { seq, account } = findZoneByName(ctx.store, 'example.com')!;
  const judge = createStoredJudge({ store, settings: ctx.settings, account, reads: () => true });
  const policies = [...recordsOfZone(ctx.store, seq)].filter(({ type }) => type === Type.txt);
  t.equal(policies.length, 50);
  for (const policy of policies) t.match(judge(policy), [{ code: 'spf-include-missing' }]);
  t.ok(owners.length > 50, 'names that lead somewhere are read');
  t.strictSame(
    owners.filter((owner, i) => owners.indexOf(owner) < i),
    [],
  );
});
