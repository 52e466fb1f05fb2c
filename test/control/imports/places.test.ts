/** Large zone files are read in turns: those of one account keep no other waiting, and are few at once. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { enterImport, turnsOfImports } from '../../../src/control/imports/places.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { openOneCopy } from '../../support/two-copies.js';
import { until } from '../../support/until.js';
import { refusal, startControl } from '../fixture.js';

const SERIES =
  '@ 300 IN SOA ns1 admin 7 7200 3600 1209600 300\n@ NS ns1\nns1 A 192.0.2.1\n$GENERATE 1-900 h$ A 192.0.2.1\n';

t.test('one account has two places, and a few more may wait', async (t) => {
  const { ctx, clock } = await startControl(t, {}, openOneCopy);
  const [{ id: b }, { id: c }] = [await createAccount(ctx, { name: 'B' }), await createAccount(ctx, { name: 'C' })];
  const of = (account: string): Context => ({ ...ctx, actor: { ...ctx.actor, accountIds: [account] } });
  const turns = turnsOfImports(ctx);
  const dryRun = async (account: string, name: string) => {
    const source = { text: SERIES };
    return (await importZone({ ...of(account), dryRun: true }, { source, origin: name })).imported;
  };
  const held = [await turns.enter([b]), await turns.enter([b])] as (() => void)[];
  const waiting = dryRun(b, 'one.test');
  await until(() => turns.waiting === 1);
  t.equal(await dryRun(c, 'other.test'), true, 'another account need not wait');
  held.pop()!();
  t.equal(await waiting, true);

  held.push((await turns.enter([b])) as () => void);
  const late = refusal(dryRun(b, 'late.test'));
  await until(() => turns.waiting === 1);
  for (let n = 0; n < 15; n++) void turns.enter([b]);
  t.match(await refusal(dryRun(b, 'more.test')), { status: 429, code: 971, retryAfterSeconds: 5 }, 'too many wait');
  clock.advance(30_000);
  t.match(await late, { status: 429, code: 971 }, 'none was free in time');
  t.equal(turns.waiting, 0);
  for (const leave of held) leave();
  t.equal(turns.held, 0, 'every place comes back');
});

t.test('the octets of files that wait are bounded, and leave room for other accounts', async (t) => {
  const { ctx, clock } = await startControl(t, {}, openOneCopy);
  const of = (account: string): Context => ({ ...ctx, actor: { ...ctx.actor, accountIds: [account] } });
  const turns = turnsOfImports(ctx);
  const held: (() => void)[] = [];
  for (const account of ['1', '2', '3', '4', '5', '6', '7', '8']) held.push(turns.enterNow([account])!);
  const MIB = 1 << 20;
  const signals = new AbortController();
  const waits: Promise<unknown>[] = [];
  const asks = (account: string, octets: number, signal?: AbortSignal) => {
    const before = turns.waiting;
    const answer = refusal(enterImport(of(account), octets, signal));
    if (turns.waiting > before) waits.push(answer);
    return turns.waiting > before ? 'waits' : answer;
  };
  const full = { status: 429, code: 971, retryAfterSeconds: 5 };
  t.equal(await asks('a', 40 * MIB, signals.signal), 'waits');
  t.match(await asks('a', 24 * MIB + 1), full);
  t.equal(await asks('a', 24 * MIB), 'waits');
  t.equal(await asks('b', 64 * MIB), 'waits');
  t.equal(await asks('c', 64 * MIB), 'waits');
  t.match(await asks('d', 32 * MIB + 1), full, 'half of what others leave');
  t.equal(await asks('d', 32 * MIB), 'waits');
  t.equal(await asks('e', MIB), 'waits', 'there is room for more');
  const gone = new Error('gone');
  signals.abort(gone);
  t.equal(await waits[0], gone, 'whoever has gone waits no longer');
  t.equal(await asks('a', 23 * MIB), 'waits');
  clock.advance(30_000);
  for (const late of waits.slice(1)) t.match(await late, full);
  t.equal(await asks('a', 64 * MIB), 'waits', 'what waited no longer takes room');
  clock.advance(30_000);
  t.match(await waits.at(-1), full);
  for (const leave of held) leave();
});
