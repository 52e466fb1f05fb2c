/** Choosing pools and origins: each policy, what drops a pool, the fallback pool, and the shares that weights give. */
import fc from 'fast-check';
import t from 'tap';
import { type Asker, type Choice, createAsker, createChoice, Drop, Outcome } from '../../src/steering/choice.js';
import {
  type BalancerSource,
  compileProgram,
  type OriginSource,
  type PoolSource,
  unitVector,
} from '../../src/steering/compile.js';
import { createDice } from '../../src/steering/dice.js';
import { codeOf, Family, mix, State } from '../../src/steering/layout.js';
import { chooseOrigin } from '../../src/steering/origins.js';
import { nextPool } from '../../src/steering/pools.js';
import { steer } from '../../src/steering/steer.js';

const NO_SHEDDING = { defaultPercent: 0, defaultPolicy: 'random', sessionPercent: 0 } as const;
const NEVER = { holds: () => false };

interface PoolIdea extends Partial<Omit<PoolSource, 'origins'>> {
  readonly origins?: readonly Partial<OriginSource>[];
}

interface World {
  readonly words: Int32Array;
  readonly states: Int32Array;
  readonly pools: readonly PoolSource[];
}

/** Pools a, b, c… with one origin each unless they say more; everything is up. */
function world(ideas: readonly PoolIdea[], change: Partial<BalancerSource> = {}): World {
  let slots = 0;
  const pools = ideas.map((idea, index): PoolSource => {
    const id = String.fromCharCode(97 + index);
    const origins = (idea.origins ?? [{}]).map((origin, i) => ({
      ...{ key: `${id}${i}`, enabled: true, weight: 1, slot: slots++, hasIpv4: true, hasIpv6: false },
      ...origin,
    }));
    const plain = {
      id,
      enabled: true,
      monitored: true,
      minimumOrigins: 1,
      place: undefined,
      loadShedding: NO_SHEDDING,
    };
    return { ...plain, originPolicy: 'random', slot: slots++, ...idea, origins };
  });
  const states = new Int32Array(slots);
  for (const { origins } of pools) for (const { slot } of origins) states[slot] = State.up;
  const words = compileProgram({
    defaultPools: pools.map(({ id }) => id),
    fallbackPool: pools.at(-1)!.id,
    policy: 'off',
    ...{ regionPools: {}, countryPools: {}, popPools: {}, randomSteering: { defaultWeight: 1, poolWeights: {} } },
    locationStrategy: { mode: 'pop', preferEcs: 'proximity' },
    ...{ ttl: 30, answer: 'one', rules: [], poolSets: [], pools, ...change },
  });
  // Not at the beginning, as in the image.
  const shifted = new Int32Array(words.length + 7);
  shifted.set(words, 7);
  return { words: shifted, states, pools };
}

const dice = createDice(Uint8Array.from({ length: 16 }, (_, i) => i * 17));

const choice = createChoice();

function start({ words, states }: World, asker: Partial<Asker> = {}, loads?: Int32Array) {
  const who = { ...createAsker(), ...asker };
  const standing = { states, loads };
  const outcome = steer(choice, words, 7, standing, who, NEVER, dice);
  return { choice, outcome, next: () => nextPool(choice, standing, who, dice), standing, who };
}

const nameOf = (pool: number): string => (pool < 0 ? '-' : String.fromCharCode(97 + pool));

/** The pools in the order in which they are tried. */
function order(place: World, asker: Partial<Asker> = {}, loads?: Int32Array): string {
  const { next } = start(place, asker, loads);
  let text = '';
  for (let pool = next(); pool >= 0; pool = next()) text += nameOf(pool);
  return text;
}

function first(place: World, asker: Partial<Asker> = {}): string {
  return nameOf(start(place, asker).next());
}

/** Pool and origin, such as `a0`. */
function origin(place: World, asker: Partial<Asker> = {}): string {
  const { choice, next, standing, who } = start(place, asker);
  if (next() < 0) return '-';
  const found = chooseOrigin(choice, standing, who, dice);
  return `${nameOf(choice.pool)}${found < 0 ? '-' : found}`;
}

const down = ({ states, pools }: World, pool: number, index = 0): void => {
  states[pools[pool]!.origins[index]!.slot] = State.down;
};

function shares(times: number, draw: () => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const name = draw();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Within four standard deviations. */
function isShare(count: number | undefined, times: number, share: number): boolean {
  return Math.abs((count ?? 0) - times * share) <= 4 * Math.sqrt(times * share * (1 - share)) + 1e-9;
}

t.test('off: in order, without those that cannot', async (t) => {
  const place = world([{}, { enabled: false }, { origins: [{ enabled: false }] }, { origins: [{ weight: 0 }] }, {}]);
  t.equal(order(place), 'ae');
  down(place, 0);
  t.equal(order(place), 'e');
  const { choice } = start(place);
  t.strictSame([...choice.dropped.subarray(0, 5)], [Drop.critical, Drop.disabled, Drop.empty, Drop.empty, Drop.no]);
});

t.test('nothing left: the fallback pool whatever its health, but not a disabled one', async (t) => {
  const place = world([{}, {}], { defaultPools: ['a'] });
  down(place, 0);
  down(place, 1);
  t.equal(origin(place), 'b0', 'although it is down');
  t.equal(start(place).next(), 1);
  t.equal(origin(world([{ enabled: false }, { enabled: false }])), '-');
  const one = world([{}], { defaultPools: ['a'], fallbackPool: 'a' });
  t.equal(order(one), 'a', 'not twice');
  down(one, 0);
  t.equal(origin(one), 'a0');
});

t.test('in the fallback pool healthy origins come first', async (t) => {
  const place = world([{ enabled: false }, { origins: [{}, {}], minimumOrigins: 2 }]);
  down(place, 1, 0);
  t.strictSame(Object.keys(shares(50, () => origin(place))), ['b1']);
});

t.test('minimum_origins', async (t) => {
  const place = world([{ origins: [{}, {}, { enabled: false }], minimumOrigins: 2 }, {}]);
  t.equal(first(place), 'a');
  down(place, 0, 1);
  t.equal(first(place), 'b', 'one of two is left');
  const never = world([{ origins: [{}], minimumOrigins: 0 }, {}]);
  down(never, 0);
  t.equal(origin(never), 'a0', '0: never critical');
  const weightless = world([{ origins: [{ weight: 0 }, {}], minimumOrigins: 2 }, {}]);
  t.equal(origin(weightless), 'a1', 'an origin without weight counts as healthy, and gets nothing');
});

t.test('without a monitor health plays no part', async (t) => {
  const place = world([{ monitored: false }, {}]);
  down(place, 0);
  t.equal(origin(place), 'a0');
});

t.test('geo: the most precise list that exists, then the fallback pool and not the default pools', async (t) => {
  const place = world([{}, {}, {}, {}, {}], {
    policy: 'geo',
    defaultPools: ['a'],
    ...{ popPools: { FRA: ['b'] }, countryPools: { DE: ['c'], FR: ['a', 'b'] }, regionPools: { WEU: ['d'] } },
    fallbackPool: 'e',
  });
  const [fra, de, weu] = [codeOf('FRA'), codeOf('DE'), codeOf('WEU')];
  t.equal(order(place, { pop: fra, country: de, region: weu }), 'be');
  t.equal(order(place, { pop: codeOf('BER'), country: de, region: weu }), 'ce');
  t.equal(order(place, { country: codeOf('AT'), region: weu }), 'de');
  t.equal(order(place, { country: codeOf('US'), region: codeOf('ENAM') }), 'ae');
  t.equal(order(place), 'ae');
  t.equal(order(place, { country: codeOf('FR') }), 'abe');
  down(place, 2);
  t.equal(order(place, { country: de, region: weu }), 'e');
});

t.test('random: shares by weight, also of those that are left', async (t) => {
  const weights = { defaultWeight: 0.5, poolWeights: { a: 0.25, b: 0.25 } };
  const place = world([{}, {}, {}], { policy: 'random', randomSteering: weights });
  const counts = shares(40_000, () => first(place));
  for (const [name, share] of [
    ['a', 0.25],
    ['b', 0.25],
    ['c', 0.5],
  ] as const) {
    t.ok(isShare(counts[name], 40_000, share), `${name}: ${counts[name]}`);
  }
  down(place, 1);
  const left = shares(30_000, () => first(place));
  t.ok(isShare(left.a, 30_000, 1 / 3) && left.b === undefined, `${left.a}`);
  t.equal(order(place).length, 2, 'each once, also the fallback pool');
});

t.test('random: all weights 0 are equal weights, one of 0 is never first', async (t) => {
  const equal = world([{}, {}], { policy: 'random', randomSteering: { defaultWeight: 0, poolWeights: {} } });
  t.ok(isShare(shares(10_000, () => first(equal)).a, 10_000, 0.5));
  const one = world([{}, {}], { policy: 'random', randomSteering: { defaultWeight: 0, poolWeights: { b: 0.01 } } });
  t.strictSame(Object.keys(shares(500, () => order(one))), ['ba']);
});

t.test('dynamic latency: the fastest first, those without data behind them in order', async (t) => {
  const place = world([{}, {}, {}, {}], { policy: 'dynamic_latency', fallbackPool: 'd' });
  t.equal(order(place), 'abcd', 'no data: the default order');
  const { states, pools } = place;
  states[pools[2]!.slot] = 9000;
  states[pools[3]!.slot] = 8000;
  t.equal(order(place), 'dcab');
});

t.test('proximity: by distance, pools without a place last', async (t) => {
  const at = (latitude: number, longitude: number) => ({ place: { latitude, longitude } });
  // New York, nowhere, Frankfurt, Sydney.
  const place = world([at(40.7, -74), {}, at(50.1, 8.7), at(-33.9, 151.2)], { policy: 'proximity', fallbackPool: 'b' });
  const from = (latitude: number, longitude: number) => {
    const [x, y, z] = unitVector(latitude, longitude);
    return order(place, { x, y, z });
  };
  t.equal(from(52.5, 13.4), 'cadb', 'Berlin');
  t.equal(from(-41.3, 174.8), 'dacb', 'Wellington');
  t.equal(from(19, -155), 'adcb', 'Hawaii, over the date line');
  t.equal(order(place), 'abcd', 'unknown');
});

t.test('least loaded: weight for each request under way; DNS, which has none, by weight', async (t) => {
  const weights = { defaultWeight: 1, poolWeights: { b: 0.5 } };
  const place = world([{}, {}], { policy: 'least_outstanding_requests', randomSteering: weights });
  const loads = new Int32Array(place.states.length);
  t.equal(order(place, {}, loads), 'ab');
  loads[place.pools[0]!.slot] = 3;
  t.equal(order(place, {}, loads), 'ba');
  t.ok(isShare(shares(9000, () => first(place)).a, 9000, 2 / 3));
});

t.test('pool sets: the first that matches takes the place of the topology', async (t) => {
  const none = {
    disabled: false,
    fixedResponse: undefined,
    fallbackPool: undefined,
    policy: undefined,
    weights: undefined,
  };
  const place = world([{}, {}, {}, {}], {
    policy: 'geo',
    countryPools: { DE: ['a'] },
    poolSets: [
      { ...none, topology: { pops: [], countries: ['DE', 'AT'], regions: ['WEU'] }, pools: ['b'], fallbackPool: 'c' },
      { ...none, disabled: true, topology: undefined, pools: ['a'] },
      { ...none, topology: { pops: ['SYD'], countries: [], regions: [] }, fixedResponse: {}, pools: undefined },
      { ...none, topology: { pops: [], countries: [], regions: ['NAF'] }, pools: ['c', 'b'], policy: 'off' },
    ],
  });
  const [de, weu] = [codeOf('DE'), codeOf('WEU')];
  t.equal(order(place, { country: de, region: weu }), 'bc');
  t.equal(order(place, { country: de, region: codeOf('EEU') }), 'ad', 'every field has to match');
  t.equal(order(place, { country: codeOf('AT'), region: weu }), 'bc');
  t.equal(order(place, { region: codeOf('NAF') }), 'cbd');
  const fixed = start(place, { pop: codeOf('SYD') });
  t.equal(fixed.outcome, Outcome.fixed);
  t.equal(fixed.choice.fixedSet, 2);
});

t.test('pool sets: a list fits exactly the codes that it has', async (t) => {
  const codes = ['AT', 'BE', 'CH', 'DE', 'ES', 'FR', 'GB'];
  const rest = {
    disabled: false,
    fixedResponse: undefined,
    fallbackPool: undefined,
    policy: undefined,
    weights: undefined,
  };
  for (let bits = 1; bits < 1 << codes.length; bits++) {
    const countries = codes.filter((_, i) => (bits >> i) & 1).reverse();
    const place = world([{}, {}, {}], {
      poolSets: [{ ...rest, topology: { pops: [], countries, regions: [] }, pools: ['b'] }],
    });
    const fitting = ['AD', ...codes, 'US'].filter((code) => order(place, { country: codeOf(code) })[0] === 'b');
    if (fitting.join() !== [...countries].reverse().join()) t.fail(`${countries}: ${fitting}`);
  }
});

t.test('rules: in order, each over the one before, until one terminates', async (t) => {
  const rule = (overrides: object, change: object = {}) => ({
    ...{ condition: '', disabled: false, terminates: false, fixedResponse: undefined, overrides, ...change },
  });
  const rules = [
    rule({ defaultPools: ['b', 'a'] }),
    rule({ fallbackPool: 'a' }, { disabled: true }),
    rule({ fallbackPool: 'c', defaultPools: ['a'] }, { terminates: true }),
    rule({}, { fixedResponse: {} }),
  ];
  const outcomeOf = (place: World, holding: readonly number[]): { order: string; choice: Choice; outcome: number } => {
    const choice = createChoice();
    const asker = createAsker();
    const standing = { states: place.states, loads: undefined };
    const judge = { holds: (index: number) => holding.includes(index) };
    const outcome = steer(choice, place.words, 7, standing, asker, judge, dice);
    let text = '';
    for (
      let pool = nextPool(choice, standing, asker, dice);
      pool >= 0;
      pool = nextPool(choice, standing, asker, dice)
    ) {
      text += nameOf(pool);
    }
    return { order: text, choice, outcome };
  };
  const place = world([{}, {}, {}, {}], { defaultPools: ['a', 'b'], rules });
  t.equal(outcomeOf(place, []).order, 'abd');
  t.equal(outcomeOf(place, [0]).order, 'bad');
  t.equal(outcomeOf(place, [0, 1]).order, 'bad', 'a disabled one');
  t.equal(outcomeOf(place, [0, 2, 3]).order, 'ac');
  t.strictSame([...outcomeOf(place, [0, 2, 3]).choice.matched.subarray(0, 4)], [1, 0, 1, 0]);
  const fixed = outcomeOf(place, [0, 3]);
  t.equal(fixed.outcome, Outcome.fixed);
  t.equal(fixed.choice.fixedRule, 3);
  const geo = world([{}, {}, {}, {}], { defaultPools: ['a', 'b'], policy: 'geo', rules });
  t.equal(outcomeOf(geo, [0, 3]).order, 'abd', 'geo steering ignores them');
});

t.test('load shedding', async (t) => {
  const shed = (defaultPolicy: 'random' | 'hash') =>
    world([{ loadShedding: { defaultPercent: 30, defaultPolicy, sessionPercent: 10 } }, {}]);
  const random = shed('random');
  t.ok(isShare(shares(20_000, () => first(random)).a, 20_000, 0.7));
  const stable = shed('hash');
  let client = 0;
  const byClient = shares(20_000, () => first(stable, { hash: mix(client++) }));
  t.ok(isShare(byClient.a, 20_000, 0.7), `${byClient.a}`);
  for (let i = 0; i < 50; i++) {
    const firsts = new Set(Array.from({ length: 5 }, () => first(stable, { hash: mix(i) })));
    t.equal(firsts.size, 1, 'a client stays where it is');
  }
  client = 0;
  const sessions = shares(20_000, () => first(stable, { hash: mix(client++), hasSession: true }));
  t.ok(isShare(sessions.a, 20_000, 0.9), `${sessions.a}`);
});

t.test('origins by weight, by family, and without one', async (t) => {
  const place = world([
    { origins: [{ weight: 0.2 }, { weight: 0.6 }, { weight: 0.2, hasIpv6: true, hasIpv4: false }, { weight: 0 }] },
  ]);
  const counts = shares(20_000, () => origin(place));
  t.ok(isShare(counts.a0, 20_000, 0.2) && isShare(counts.a1, 20_000, 0.6) && isShare(counts.a2, 20_000, 0.2));
  t.ok(isShare(shares(20_000, () => origin(place, { families: Family.ipv4 })).a0, 20_000, 0.25));
  t.strictSame(Object.keys(shares(100, () => origin(place, { families: Family.ipv6 }))), ['a2']);
  t.strictSame(Object.keys(shares(100, () => origin(place, { families: Family.ipv4, without: 1 }))), ['a0']);
  down(place, 0, 2);
  t.equal(origin(place, { families: Family.ipv6 }), 'a-', 'none of this family is healthy');
});

t.test('by hash: a client keeps its origin, and an origin that goes moves only its own share', async (t) => {
  const origins = Array.from({ length: 5 }, (_, i) => ({ weight: i === 4 ? 0.5 : 1 }));
  const place = world([{ originPolicy: 'hash', origins }]);
  const askers = Array.from({ length: 9000 }, (_, i) => mix(i * 7919));
  const before = askers.map((hash) => origin(place, { hash }));
  t.strictSame(
    askers.map((hash) => origin(place, { hash })),
    before,
  );
  const counts = shares(
    9000,
    (
      (i) => () =>
        before[i++]!
    )(0),
  );
  for (let i = 0; i < 4; i++) t.ok(isShare(counts[`a${i}`], 9000, 2 / 9), `a${i}: ${counts[`a${i}`]}`);
  t.ok(isShare(counts.a4, 9000, 1 / 9));
  down(place, 0, 2);
  const after = askers.map((hash) => origin(place, { hash }));
  t.equal(after.filter((name, i) => before[i] !== 'a2' && name !== before[i]).length, 0);
  t.notOk(after.includes('a2'));
});

t.test(
  'whatever is up and down: never an origin that is down while one of its pool is up, never a critical pool',
  async () => {
    const pool = fc.record({
      enabled: fc.boolean(),
      minimumOrigins: fc.nat(3),
      origins: fc.array(fc.record({ enabled: fc.boolean(), weight: fc.constantFrom(0, 0.5, 1) }), {
        minLength: 1,
        maxLength: 4,
      }),
    });
    const policy = fc.constantFrom('off' as const, 'random' as const, 'dynamic_latency' as const, 'proximity' as const);
    fc.assert(
      fc.property(
        fc.array(pool, { minLength: 1, maxLength: 4 }),
        policy,
        fc.infiniteStream(fc.boolean()),
        (ideas, policy, ups) => {
          const place = world(ideas, { policy });
          const { states, pools } = place;
          for (const { origins } of pools) for (const { slot } of origins) states[slot] = Number(ups.next().value);
          const { choice, next, standing, who } = start(place);
          const isUp = ({ enabled, slot }: OriginSource): boolean => enabled && states[slot] === State.up;
          const found = next();
          const isUsable = ({ enabled, minimumOrigins, origins }: PoolSource): boolean =>
            enabled &&
            origins.filter(isUp).length >= minimumOrigins &&
            origins.some((each) => each.weight > 0 && each.enabled && (isUp(each) || minimumOrigins === 0));
          if (found < 0) return !pools.some(isUsable) && !pools.at(-1)!.enabled;
          const chosen = pools[found]!;
          if (choice.isFallback) {
            if (pools.some(isUsable) || !chosen.enabled) return false;
          } else if (!isUsable(chosen)) return false;
          const index = chooseOrigin(choice, standing, who, dice);
          const able = chosen.origins.filter(({ enabled, weight }) => enabled && weight > 0);
          if (index < 0) return able.length === 0;
          return able.includes(chosen.origins[index]!) && (isUp(chosen.origins[index]!) || !able.some(isUp));
        },
      ),
      { seed: 20261126, numRuns: 3000 },
    );
  },
);
