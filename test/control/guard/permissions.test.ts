/** Policies decide as they are read one by one, however many there are, and nothing is read from them for each zone. */
import t from 'tap';
import {
  AREAS,
  type Area,
  decide,
  type Level,
  PERMISSION_GROUPS,
  type Policy,
  type ResourceScope,
  resourcesOf,
  showsZone,
  type Target,
  ZONE_AREAS,
} from '../../../src/control/guard/permissions.js';
import { type Dice, throwDice } from '../../support/dice.js';

const SEED = 20261127;
const WORLDS = 300;
const IDS = ['1', '2'].map((digit) => digit.repeat(32));
const PREFIX = 'com.cloudflare.api.';

function randomResource(dice: Dice): [string, string | Record<string, string>] {
  const id = dice.pick([...IDS, '*']);
  const zone = `${PREFIX}account.zone.${dice.pick([...IDS, '*'])}`;
  return dice.pick<[string, string | Record<string, string>]>([
    [zone, '*'],
    [`${PREFIX}account.${id}`, '*'],
    [`${PREFIX}account.${id}`, { [zone]: '*' }],
    [`${PREFIX}user.${id}`, '*'],
    [`com.cloudflare.edge.r2.bucket.${id === '*' ? '*' : `${id}_default_b`}`, '*'],
    ['nothing', '*'],
  ]);
}

function randomPolicy(dice: Dice): Policy {
  const some = <T>(make: () => T): T[] => Array.from({ length: 1 + dice.below(3) }, make);
  return {
    id: '',
    effect: dice.pick(['allow', 'allow', 'deny']),
    groups: some(() => dice.pick(PERMISSION_GROUPS).id),
    resources: Object.fromEntries(some(() => randomResource(dice))),
  };
}

/** By each resource of each group of each policy. */
function isAllowed(policies: readonly Policy[], area: Area, level: Level, target: Target): boolean {
  const fits = (known: string, asked: string | undefined): boolean =>
    asked !== undefined && (known === '*' || known === asked);
  const covers = (policy: Policy, given: ResourceScope): boolean =>
    resourcesOf(policy).some(({ scope, id, account }) => {
      if (account !== undefined && !fits(account, target.account)) return false;
      if (scope === 'account') return given !== 'user' && fits(id, target.account);
      const bucket = target.bucket && `${target.account}_${target.bucket}`;
      return scope === given && fits(id, scope === 'bucket' ? bucket : target[scope]);
    });
  const says = (policy: Policy): boolean =>
    PERMISSION_GROUPS.filter(({ id, areas }) => policy.groups.includes(id) && areas.includes(area)).some((group) => {
      const isReached =
        policy.effect === 'allow'
          ? group.level === 'write' || level === 'read'
          : group.level === 'read' || level === 'write';
      return isReached && covers(policy, group.scope);
    });
  const [denying, allowing] = [false, true].map((isAllow) =>
    policies.some((policy) => (policy.effect === 'allow') === isAllow && says(policy)),
  );
  return allowing! && !denying!;
}

t.test('random policies', async (t) => {
  const dice = throwDice(SEED);
  for (let world = 0; world < WORLDS; world++) {
    const policies = Array.from({ length: 1 + dice.below(3) }, () => randomPolicy(dice));
    const targets: Target[] = [
      { account: dice.pick(IDS), zone: dice.pick([...IDS, '*']) },
      { account: dice.pick(IDS), bucket: dice.pick(['default_b', 'default_c', '*']) },
      { user: dice.pick(IDS) },
    ];
    for (const target of targets) {
      const told = JSON.stringify({ world, policies, target });
      const right = AREAS.flatMap((area) =>
        ['read', 'write'].map((level) => isAllowed(policies, area, level as Level, target)),
      );
      const decided = AREAS.flatMap((area) =>
        ['read', 'write'].map((level) => decide(policies, area, level as Level, target).allowed),
      );
      if (`${decided}` !== `${right}`) t.strictSame(decided, right, told);
      const isShown = ZONE_AREAS.some((area) =>
        isAllowed(policies, area, area === 'cachePurge' ? 'write' : 'read', target),
      );
      if (showsZone(policies, target) !== isShown) t.equal(!isShown, isShown, told);
    }
  }
});

t.test('a policy with very many resources is read once', async (t) => {
  let reads = 0;
  const zones = Array.from({ length: 1000 }, (_, i) => i.toString(16).padStart(32, '0'));
  const resources = new Proxy(Object.fromEntries(zones.map((zone) => [`${PREFIX}account.zone.${zone}`, '*'])), {
    ownKeys(target) {
      reads++;
      return Reflect.ownKeys(target);
    },
  });
  const groups = PERMISSION_GROUPS.filter(({ name }) => name === 'Page Rules Read').map(({ id }) => id);
  const policies: readonly Policy[] = [{ id: '', effect: 'allow', groups, resources }];
  t.ok(zones.every((zone) => showsZone(policies, { zone, account: IDS[0]! })));
  t.equal(reads, 1);
});
