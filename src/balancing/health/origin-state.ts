/** The state of an origin: what follows from each result of a probe. Pure. */

export type OriginState = 'unknown' | 'healthy' | 'unhealthy';
export type ProbeOutcome = 'pass' | 'fail';

/** A state, and how many results in a row speak against it. */
export interface Standing {
  readonly state: OriginState;
  readonly against: number;
}

/** Results in a row that change the state; 0 means 1. */
export interface Thresholds {
  readonly consecutiveUp: number;
  readonly consecutiveDown: number;
}

export const UNKNOWN: Standing = { state: 'unknown', against: 0 };

/** What a result says, and which state follows when enough of them came in a row. The first result decides at once. */
const TABLE = {
  unknown: { pass: { to: 'healthy', after: undefined }, fail: { to: 'unhealthy', after: undefined } },
  healthy: { pass: undefined, fail: { to: 'unhealthy', after: 'consecutiveDown' } },
  unhealthy: { pass: { to: 'healthy', after: 'consecutiveUp' }, fail: undefined },
} as const;

export function afterResult({ state, against }: Standing, outcome: ProbeOutcome, thresholds: Thresholds): Standing {
  const change = TABLE[state][outcome];
  if (!change) return against === 0 ? { state, against } : { state, against: 0 };
  const needed = change.after === undefined ? 1 : Math.max(1, thresholds[change.after]);
  return against + 1 >= needed ? { state: change.to, against: 0 } : { state, against: against + 1 };
}

/** The monitor was edited: what is known stays, what was counted does not. */
export function afterEdit({ state }: Standing): Standing {
  return { state, against: 0 };
}

/** What a member of a monitor group says about an origin. */
export interface GroupVote {
  readonly state: OriginState;
  readonly monitoringOnly: boolean;
  readonly mustBeHealthy: boolean;
}

/**
 * The state of an origin that a monitor group probes. `votes`: of its enabled members. One that must be healthy and fails decides;
 * otherwise more than half of those that count.
 */
export function stateOfGroup(votes: readonly GroupVote[]): OriginState {
  if (votes.some(({ mustBeHealthy, state }) => mustBeHealthy && state === 'unhealthy')) return 'unhealthy';
  if (votes.some(({ mustBeHealthy, state }) => mustBeHealthy && state === 'unknown')) return 'unknown';
  const counted = votes.filter(({ monitoringOnly }) => !monitoringOnly);
  const unhealthy = counted.filter(({ state }) => state === 'unhealthy').length;
  if (unhealthy * 2 > counted.length) return 'unhealthy';
  const known = votes.filter(({ monitoringOnly, mustBeHealthy }) => !monitoringOnly || mustBeHealthy);
  return known.some(({ state }) => state === 'healthy') ? 'healthy' : 'unknown';
}
