/** Logs that are full: what is older than a week goes first, then the oldest of who writes most; nobody loses a neighbour's week. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { pruneChanges } from '../../src/store/log/changes.js';
import { editsOfZone, finishEdit, historyKeptFrom, pruneEdits, stageEdit } from '../../src/store/log/edits.js';
import { entriesToPrune } from '../../src/store/log/prune.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { install } from '../api/installation.js';

const DAY_MS = 86_400_000;

t.test('a greedy neighbour pushes out its own history and changes, not those of others', async (t) => {
  const { call, store, operator, token, clock, createZone } = await install(t);
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const greedy = { headers: await token({ email: 'other@example.org' }) };
  const mine = await createZone('mine.example');
  const theirs = (await call('POST', '/zones', { name: 'theirs.example' }, greedy)).json.result.id;
  const { seq } = findZoneByName(store, 'mine.example')!;
  const other = findZoneByName(store, 'theirs.example')!.seq;
  const edit = (zone: string, i: number, options = {}) =>
    call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: `h${i}`, content: '192.0.2.1' }, options);
  for (let i = 0; i < 5; i++) await edit(mine, i);
  for (let i = 0; i < 60; i++) await edit(theirs, i, greedy);
  const count = (table: string, zone: number): number =>
    store.prepareTuples<[number], [number]>(`SELECT count(*) FROM ${table} WHERE zone = ?`).get(zone)![0];
  const records = (): number[] => [
    store.prepareTuples<[], [number]>('SELECT count(*) FROM edited_records').get()![0],
    store.prepareTuples<[], [number]>("SELECT value FROM meta WHERE name = 'edited_records'").get()![0],
  ];
  clock.advance(DAY_MS);
  await store.write(() => pruneEdits(store, 40, clock.nowUs()));
  await store.write(() => pruneChanges(store, { table: 'changes', kept: 40, newest: 5 }, clock.nowUs()));
  t.same([count('zone_edits', seq), count('zone_edits', other)], [6, 34]);
  t.same([count('changes', seq), count('changes', other)], [6, 34]);
  t.equal(records()[0], records()[1]);
  t.equal(historyKeptFrom(store, seq), historyKeptFrom(store, 0), 'nothing of mine is missing');
  t.ok(historyKeptFrom(store, other) > historyKeptFrom(store, seq));
  t.equal((await call('GET', `/zones/${mine}/history`)).json.result.length, 6);

  const audit = { table: 'events', kept: 40, newest: 0 } as const;
  const gone = entriesToPrune(store, audit, clock.nowUs());
  const accountOf = store.prepareTuples<[number], [number | null]>('SELECT account FROM events WHERE seq = ?');
  const { account } = findZoneByName(store, 'theirs.example')!;
  t.ok(gone.length > 20);
  t.ok(gone.every((entry) => accountOf.get(entry)![0] === account));

  clock.advance(7 * DAY_MS);
  await store.write(() => pruneEdits(store, 36, clock.nowUs()));
  t.same(
    [count('zone_edits', seq), count('zone_edits', other)],
    [2, 34],
    'after a week, the oldest goes, whoever had it',
  );
});

t.test(
  'who has most loses it, not who writes just now, and what is left of zones that are gone goes first',
  async (t) => {
    const { call, store, operator, token, clock, createZone } = await install(t);
    await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
    const greedy = { headers: await token({ email: 'other@example.org' }) };
    const theirs = (await call('POST', '/zones', { name: 'theirs.example' }, greedy)).json.result.id;
    const mine = await createZone('mine.example');
    const edit = (zone: string, i: number, options = {}) =>
      call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: `h${i}`, content: '192.0.2.1' }, options);
    for (let i = 0; i < 60; i++) await edit(theirs, i, greedy);
    for (let i = 0; i < 20; i++) await edit(mine, i);
    const { seq } = findZoneByName(store, 'mine.example')!;
    const prunable = (kept: number): Set<number> => {
      const gone = entriesToPrune(store, { table: 'changes', kept, newest: 5 }, clock.nowUs());
      const zoneOf = store.prepareTuples<[number], [number]>('SELECT zone FROM changes WHERE seq = ?');
      return new Set(gone.map((entry) => zoneOf.get(entry)![0]));
    };
    const other = findZoneByName(store, 'theirs.example')!.seq;
    t.same([...prunable(40)], [other], 'many edits just now cost nobody his week');
    const passing = (await call('POST', '/zones', { name: 'passing.example' }, greedy)).json.result.id;
    const gone = findZoneByName(store, 'passing.example')!.seq;
    for (let i = 0; i < 30; i++) await edit(passing, i, greedy);
    await call('DELETE', `/zones/${passing}`, undefined, greedy);
    t.same([...prunable(100)], [gone]);
    t.notOk(prunable(10).has(seq), 'even when the log has many times what it keeps');
  },
);

t.test('an edit that is being made stays in a full journal, until whoever makes it must have ended', async (t) => {
  const { store, clock, createZone } = await install(t);
  await createZone('mine.example');
  const { seq: zone } = findZoneByName(store, 'mine.example')!;
  const { seq: _, ...first } = editsOfZone(store, zone, 1, 0)[0]!;
  const edit = { ...first, at_us: clock.nowUs() };
  const stage = () => store.write(() => stageEdit(store, edit, 0));
  const staged = [await stage(), await stage()];
  await stage();
  await store.write(() => pruneEdits(store, 1, clock.nowUs()));
  await store.write(() => finishEdit(store, staged[0]!, edit));
  t.equal(editsOfZone(store, zone, 10, 0)[0]?.seq, staged[0], 'it happens');
  clock.advance(601_000);
  await store.write(() => pruneEdits(store, 1, clock.nowUs()));
  await t.rejects(
    store.write(() => finishEdit(store, staged[1]!, edit)),
    { message: /stood still for so long/ },
  );
});
