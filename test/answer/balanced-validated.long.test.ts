/** Unbound validates every answer of load balancers in signed zones, whatever the health of origins. */
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { answerWith } from '../../src/answer/engine.js';
import { createSigningTime } from '../../src/answer/signing-time.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { createCompactAnswerer, MOST_TIME_US } from '../../src/compact/answerer.js';
import { createZoneSigners } from '../../src/compact/zone-signers.js';
import { editDnssec, getDnssec } from '../../src/control/dnssec/delegation.js';
import { createRecord } from '../../src/control/records/records.js';
import { Type } from '../../src/dns/codes.js';
import { startDnsServers } from '../../src/server/start.js';
import type { DenialKind } from '../../src/store/dnssec/zones.js';
import { APEX, type BalancedZone, startBalancedZone } from '../support/balanced-zone.js';
import { isUnboundMissing, startUnbound, type Unbound, WITHOUT_CACHE } from '../support/unbound.js';
import { testVault } from '../support/zone-keys.js';

const skip = isUnboundMissing() && process.env['CI'] !== 'true' ? 'unbound is not installed' : false;

async function listen(t: Test, { ctx, writer }: BalancedZone): Promise<number> {
  const clock = new SystemClock();
  const made = new Map();
  const settings = { ...DEFAULT_ENGINE_SETTINGS, signingTime: createSigningTime(MOST_TIME_US) };
  const state = createEngineState(settings, made);
  const engine = { state, image: writer.reader, answer: answerWith(state, writer.reader) };
  const vault = await testVault(ctx.store, ctx.random);
  const keysOf = createZoneSigners({ store: ctx.store, vault, log: silentLogger() });
  const compact = createCompactAnswerer({
    ...{ engine, made, clock, keysOf, signingTime: settings.signingTime, log: silentLogger(), accountOf: () => 1 },
    processorUs: () => clock.steadyUs(),
  });
  t.teardown(() => compact.close());
  const servers = await startDnsServers({
    ...{ addresses: ['127.0.0.1'], port: 0, transport: 'auto', workers: 1, log: silentLogger(), clock },
    answer: answerWith(createEngineState(settings, made), writer.reader),
    answerDeferred: compact.answerDeferred,
    workerEngine: {
      connect: () => ({ data: { image: writer.current(), settings }, port: new MessageChannel().port2 }),
    },
  });
  t.teardown(() => servers.close());
  return servers.port;
}

async function start(t: Test, denial: DenialKind): Promise<{ world: BalancedZone; unbound: Unbound }> {
  const world = await startBalancedZone(t, {}, Date.now());
  await createRecord(world.ctx, world.zoneId, { name: `www.${APEX}`, type: 'TXT', content: '"x"', ttl: 60 });
  await createRecord(world.ctx, world.zoneId, {
    name: `alias.${APEX}`,
    type: 'CNAME',
    content: `www.${APEX}`,
    ttl: 60,
  });
  await world.pool('a', [
    { name: 'one', address: '192.0.2.1' },
    { name: 'two', address: '192.0.2.2' },
  ]);
  await world.pool('b', [
    { name: 'six', address: '2001:db8::6' },
    { name: 'four', address: '198.51.100.4' },
  ]);
  const lists = { default_pools: [world.idOf('a'), world.idOf('b')], fallback_pool: world.idOf('b') };
  for (const label of ['www', '@', '*.wild']) {
    await world.balancer(label, { ...lists, steering_policy: label === '@' ? 'random' : 'off' });
  }
  const { key } = await editDnssec(world.ctx, world.zoneId, { status: 'active', denial });
  world.follower.catchUp();
  const line = key?.ds?.line ?? (await getDnssec(world.ctx, world.zoneId)).key!.ds!.line;
  const port = await listen(t, world);
  const unbound = await startUnbound(t, { names: [APEX], ports: [port], anchors: [line], settings: WITHOUT_CACHE });
  return { world, unbound };
}

const QUESTIONS: readonly (readonly [label: string, type: number, code: number])[] = [
  ...(['www', 'alias', 'x.wild', ''] as const).flatMap((label) => [
    [label, Type.a, 0] as const,
    [label, Type.aaaa, 0] as const,
    [label, Type.mx, 0] as const,
  ]),
  ['missing', Type.a, 3],
  ['below.www', Type.a, 3],
];

for (const denial of ['nsec', 'nsec3', 'compact'] as const) {
  t.test(`all of it is secure, ${denial}`, { skip, timeout: 300_000 }, async (t) => {
    const { world, unbound } = await start(t, denial);
    const states = [
      [],
      [['a', 'one']],
      [
        ['a', 'one'],
        ['a', 'two'],
      ],
      [
        ['a', 'one'],
        ['b', 'four'],
      ],
      [
        ['a', 'one'],
        ['a', 'two'],
        ['b', 'six'],
        ['b', 'four'],
      ],
    ] as const;
    for (const down of states) {
      for (const [pool, origin] of [
        ['a', 'one'],
        ['a', 'two'],
        ['b', 'six'],
        ['b', 'four'],
      ] as const) {
        await world.health(pool, origin, !down.some(([p, o]) => p === pool && o === origin));
      }
      const asked = QUESTIONS.map(async ([label, type, code]) => {
        const name = label === '' ? APEX : `${label}.${APEX}`;
        const verdict = await unbound.judge(name, type);
        const isCompactAbsence = denial === 'compact' && code === 3;
        const expected = isCompactAbsence ? /^secure [03]$/ : new RegExp(`^secure ${code}$`);
        t.match(verdict, expected, `${name} ${type} without ${down.flat().join(' ')}`);
      });
      await Promise.all(asked);
    }
    if (!t.passing())
      t.comment(
        unbound
          .log()
          .filter((line) => /bogus|fail/i.test(line))
          .slice(-20)
          .join('\n'),
      );
  });
}
