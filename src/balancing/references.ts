/** Which pools a load balancer refers to. */
import type { Members } from './members.js';
import { memberOr, membersOf } from './members.js';

/** Identifiers of all of them, each once, those that it uses first of all before the others. `members`: as clients write them. */
export function poolsReferredTo(members: Members): readonly string[] {
  const rules = memberOr<readonly Members[]>(members, 'rules', []);
  const sets = memberOr<readonly Members[]>(members, 'pool_sets', []);
  return [
    ...new Set([
      ...ofSteering(members),
      ...rules.flatMap((rule) => ofSteering(membersOf(rule, 'overrides'))),
      ...sets.flatMap((set) => ofSteering(membersOf(set, 'overrides'))),
    ]),
  ];
}

function ofSteering(members: Members): string[] {
  const fallback = memberOr(members, 'fallback_pool', '');
  const maps = ['region_pools', 'country_pools', 'pop_pools'].map((name) => membersOf(members, name));
  const weights = [
    membersOf(membersOf(members, 'random_steering'), 'pool_weights'),
    membersOf(members, 'pool_weights'),
  ];
  return [
    ...memberOr<readonly string[]>(members, 'default_pools', []),
    ...memberOr<readonly string[]>(members, 'pools', []),
    ...(fallback === '' ? [] : [fallback]),
    ...maps.flatMap((map) => Object.values(map) as string[][]).flat(),
    ...weights.flatMap(Object.keys),
  ];
}
