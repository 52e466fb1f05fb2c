/** Steps of TSIG keys: they are created, and get what they may update. */
import { fromBase64, toBase64 } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import type { PolicyInput } from '../../control/access/policy.js';
import { DNS_WRITE } from '../../control/guard/permissions.js';
import { createTsig, listTsigs, replaceTsig, type TsigItem } from '../../control/secondary/tsigs.js';
import { TYPES } from '../../dns/rr/registry.js';
import { parseTsigAlgorithm } from '../../dns/tsig.js';
import type { KeyStatement, UpdateStatement, ZoneStatement } from '../../foreign/configuration.js';
import { requireZoneNamed } from '../control.js';
import { sameName } from '../secondary/tsig.js';
import { refusalOf, type Standing, type Step, type Target } from './step.js';

export async function keySteps(target: Target, keys: readonly KeyStatement[]): Promise<Step[]> {
  const known = await listTsigs(target.context, target.services, target.account);
  return keys.map((key): Step => {
    const algorithm = parseTsigAlgorithm(key.algorithm);
    const detail = algorithm ?? key.algorithm;
    return { kind: 'key', place: key.place, subject: key.name, detail, standing: standingOf(target, key, known) };
  });
}

function standingOf(target: Target, key: KeyStatement, known: readonly TsigItem[]): Standing {
  const { name, algorithm: algo, secret } = key;
  const there = known.find((other) => sameName(other.name, name));
  if (!there) {
    const input = { name, algo, secret };
    return {
      is: 'open',
      run: async () => void (await createTsig(target.context, target.services, target.account, input)),
    };
  }
  const octets = fromBase64(secret.trim());
  const isSame =
    parseTsigAlgorithm(there.algo) === parseTsigAlgorithm(algo) && octets && there.secret === toBase64(octets);
  if (isSame) return { is: 'already' };
  return {
    is: 'refused',
    reason: 'a key of this name is here already, with another secret or algorithm',
    remedy: `Delete it (zoneplane tsig delete ${name}), or rename one of the two keys on both servers that use it.`,
  };
}

/** The identifier of a key. Throws a UserError when it was not taken. */
export async function keyIdOf(target: Target, name: string): Promise<string> {
  const known = await listTsigs(target.context, target.services, target.account);
  const found = known.find((other) => sameName(other.name, name));
  if (!found)
    throw new UserError(`the key ${name} is not here`, 'It has to be in the configuration, and has to be taken over.');
  return found.id;
}

interface Grouped {
  readonly rule: UpdateStatement;
  readonly zones: string[];
}

/** One step for each key that may update something. */
export async function updateSteps(target: Target, zones: readonly ZoneStatement[]): Promise<Step[]> {
  const byKey = new Map<string, Map<string, Grouped>>();
  for (const zone of zones) {
    for (const rule of zone.updates) {
      const rules = byKey.get(rule.key) ?? new Map<string, Grouped>();
      const scope = JSON.stringify([rule.names, rule.types, rule.without]);
      const grouped = rules.get(scope) ?? { rule, zones: [] };
      grouped.zones.push(zone.name);
      rules.set(scope, grouped);
      byKey.set(rule.key, rules);
    }
  }
  const steps = [...byKey].map(async ([key, rules]): Promise<Step> => {
    const all = [...rules.values()];
    const count = new Set(all.flatMap((grouped) => grouped.zones)).size;
    const place = all[0]!.rule.place;
    const detail = `may update ${count === 1 ? all[0]!.zones[0] : `${count} zones`}`;
    return { kind: 'updates', place, subject: key, detail, standing: await updatesStanding(target, key, all) };
  });
  return Promise.all(steps);
}

async function updatesStanding(target: Target, key: string, rules: readonly Grouped[]): Promise<Standing> {
  try {
    const missing = await missingPolicies(target, key, rules);
    if (missing.length === 0) return { is: 'already' };
  } catch (error) {
    // Its zones, or the key itself, are not here yet.
    refusalOf(error);
  }
  return { is: 'open', run: () => allow(target, key, rules) };
}

async function allow(target: Target, key: string, rules: readonly Grouped[]): Promise<void> {
  const missing = await missingPolicies(target, key, rules);
  const { context, services, account } = target;
  const item = await itemOf(target, key);
  const kept = item.policies.map(({ effect, groups, resources, records }): PolicyInput => {
    return { effect, permission_groups: groups.map((id) => ({ id })), resources, ...(records && { records }) };
  });
  const { name, algo, secret } = item;
  await replaceTsig(context, services, account, item.id, { name, algo, secret, policies: [...kept, ...missing] });
}

async function itemOf(target: Target, key: string): Promise<TsigItem> {
  const id = await keyIdOf(target, key);
  return (await listTsigs(target.context, target.services, target.account)).find((other) => other.id === id)!;
}

/** Policies that the key does not have. Zones that were not taken are refused, and then nothing is allowed. */
async function missingPolicies(target: Target, key: string, rules: readonly Grouped[]): Promise<PolicyInput[]> {
  const { policies } = await itemOf(target, key);
  const missing: PolicyInput[] = [];
  for (const { rule, zones } of rules) {
    const { names, types } = scopeOf(rule);
    const records = names || types ? { ...(names && { names }), ...(types && { types }) } : undefined;
    const ids = await Promise.all(zones.map(async (name) => (await requireZoneNamed(target.context, name)).id));
    const resources = Object.fromEntries(ids.map((id) => [`com.cloudflare.api.account.zone.${id}`, '*'] as const));
    const isThere = policies.some(
      (policy) => same(policy.records, records) && Object.keys(resources).every((name) => name in policy.resources),
    );
    if (isThere) continue;
    const groups = [{ id: DNS_WRITE }];
    missing.push({ effect: 'allow', permission_groups: groups, resources, ...(records && { records }) });
  }
  return missing;
}

function scopeOf({ names, types, without }: UpdateStatement): Pick<UpdateStatement, 'names' | 'types'> {
  const others = without && TYPES.map(({ mnemonic }) => mnemonic).filter((type) => !without.includes(type));
  return { names, types: types ?? others };
}

const same = (a: object | undefined, b: object | undefined): boolean => sorted(a) === sorted(b);

function sorted(scope: object | undefined): string {
  const { names, types } = (scope ?? {}) as { names?: readonly string[]; types?: readonly string[] };
  return JSON.stringify([names ? [...names].sort() : null, types ? [...types].sort() : null]);
}
