/** What is planned for a zone is read without sorting the zone for each part. */
import t from 'tap';
import { requireZone } from '../../src/control/guard/access.js';
import { createZone } from '../../src/control/zones/zones.js';
import { noteShadowed } from '../../src/store/records/owner-index.js';
import { openPlannedRecords } from '../../src/store/records/past-records.js';
import { storedRows } from '../../src/store/records/stored-rows.js';
import { startControl } from '../control/fixture.js';

t.test('parts of a planned zone are merged', async (t) => {
  const { ctx } = await startControl(t);
  const { id } = await createZone(ctx, { name: 'planned.test' });
  const zone = requireZone(ctx, id);
  const { store, close } = openPlannedRecords(ctx.store, zone);
  const asked: string[] = [];
  const watched = Object.assign(Object.create(store) as typeof store, {
    prepareTuples: (sql: string) => {
      asked.push(sql);
      return store.prepareTuples(sql);
    },
  });
  noteShadowed(watched);
  t.strictSame([...storedRows(watched, zone.seq)], []);
  const parts = asked.filter((sql) => sql.endsWith('LIMIT ?)'));
  t.equal(parts.length, 1, 'the statement that reads a part');
  const steps = store.prepare<[number, Uint8Array, number], { readonly detail: string }>(
    `EXPLAIN QUERY PLAN ${parts[0]!}`,
  );
  const plan = steps.all(zone.seq, new Uint8Array(0), 1).map(({ detail }) => detail);
  t.ok(plan.includes('MERGE (UNION ALL)'), plan.join('; '));
  t.notOk(
    plan.some((step) => step.includes('TEMP B-TREE')),
    'nothing is sorted',
  );
  close();
});
