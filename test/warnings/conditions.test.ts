/** What needs somebody makes one event when it begins, and one when it is over. */
import t from 'tap';
import type { ContextBase } from '../../src/control/kernel/context.js';
import { openConditions } from '../../src/store/log/conditions.js';
import { noteConditions } from '../../src/warnings/conditions.js';
import type { Finding } from '../../src/warnings/finding.js';
import { install } from '../api/installation.js';
import { latestEvents } from '../support/rows.js';

t.test('begun, going on, over', async (t) => {
  const { base, call, createZone, store } = await install(t);
  const zone = await createZone('example.com');
  const look = async (findings: readonly Finding[], own: ContextBase = base) => {
    const before = latestEvents(store, 1)[0]!.seq;
    await noteConditions(own, findings);
    return latestEvents(store, 10)
      .filter(({ seq }) => seq > before)
      .map(({ kind, name, zone_name }) => [kind, name, zone_name]);
  };
  const behind = { what: 'secondaries', verdict: 'warn', kind: 'secondary-behind', zoneId: zone } as const;
  const old = { what: 'backups', verdict: 'fail', kind: 'backup-old' } as const;
  const first = [
    { ...behind, text: 'ns2 serves an older version of example.com', remedy: 'See its log.' },
    { ...behind, text: 'ns3 serves an older version of example.com', remedy: 'See its log.' },
    { ...old, text: 'the newest is of yesterday' },
    { what: 'jobs', verdict: 'ok', text: 'no job fails' },
  ] as const;
  t.strictSame((await look(first)).sort(), [
    ['backup.overdue', 'backup-old', null],
    ['secondary.behind', 'example.com', 'example.com'],
  ]);
  const told = latestEvents(store, 2).find(({ kind }) => kind === 'secondary.behind')!;
  t.match(told, { actor: 'operator@localhost', source: 'service', account: 1, before: null });
  t.match(JSON.parse(told.after!), { warning: 'secondary-behind', text: first[0].text, remedy: 'See its log.' });
  const position = store.position().number;
  t.strictSame(await look(first.slice(1)), [], 'once, however many and however long');
  t.equal(store.position().number, position, 'and nothing is written');
  t.strictSame(await look([first[2]]), [['secondary.recover', 'example.com', 'example.com']]);
  t.match(JSON.parse(latestEvents(store, 1)[0]!.before!), { text: first[0].text, since: /^\d+$/ });
  t.strictSame(await look([]), [['backup.recover', 'backup-old', null]]);
  t.strictSame(openConditions(store), []);

  await call('PATCH', `/zones/${zone}/dnssec`, { status: 'active' });
  t.strictSame(await look([]), [['dnssec.ds_wait', 'example.com', 'example.com']]);
  t.strictSame(await look([]), []);
  await call('DELETE', `/zones/${zone}/dnssec`);
  t.strictSame(await look([]), [['dnssec.wait_end', 'example.com', 'example.com']]);

  await look([first[0]]);
  await call('DELETE', `/zones/${zone}`);
  t.strictSame(await look([]), [['secondary.recover', 'secondary-behind', null]], 'also of a zone that is gone');
});
