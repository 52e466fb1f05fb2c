/**
 * The states of a custom hostname and what moves it from one to another (edge specification §3.1). Pure: what happened, and
 * when it happens next, is for the callers to find out.
 */
import type { HostnameState } from '../store/hostnames/hostnames.js';

/**
 * - `verified`: it leads here, or its token was found, and there is an origin for its traffic.
 * - `unverified`: a check found otherwise. `unsure`: a check could find nothing out.
 * - `exhausted`: the last check of the schedule failed.
 * - `held`: a zone's hold covers it.
 * - `elsewhere`: it led here and leads elsewhere for good.
 * - `displaced`: another zone verified the same name later.
 * - `restarted`: somebody edited it. `expired`: it has been in its state for as long as that is kept.
 */
export const EVENTS = [
  'verified',
  'unverified',
  'unsure',
  'exhausted',
  'held',
  'elsewhere',
  'displaced',
  'restarted',
  'expired',
] as const;
export type ActivationEvent = (typeof EVENTS)[number];

/** Events that are not listed leave a hostname as it is. */
const TRANSITIONS: Readonly<Record<HostnameState, Partial<Readonly<Record<ActivationEvent, HostnameState | 'gone'>>>>> =
  {
    pending: { verified: 'active', exhausted: 'moved', held: 'blocked' },
    active: { elsewhere: 'moved', displaced: 'moved' },
    blocked: { restarted: 'pending' },
    moved: { restarted: 'pending', expired: 'gone' },
  };

export function nextState(state: HostnameState, event: ActivationEvent): HostnameState | 'gone' {
  return TRANSITIONS[state][event] ?? state;
}
