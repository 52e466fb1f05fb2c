/** What checks of members share. A member that is absent or null passes. */
import type { Members } from '../../balancing/members.js';
import { parseHostName } from '../rules/names.js';
import { invalid } from './errors.js';

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** Throws 1002 unless the number is in the range. `at`: pointer to the object. */
export function requireRange(members: Members, name: string, { least, most }: Range, at = ''): void {
  const value = members[name];
  if (value === undefined || value === null) return;
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw invalid(`${name} is not in range [${least}, ${most}]`, `${at}/${name}`);
  }
}

/** The same for whole numbers. */
export function requireWhole(members: Members, name: string, range: Range, at = ''): void {
  requireRange(members, name, range, at);
  const value = members[name];
  if (typeof value === 'number' && !Number.isInteger(value))
    throw invalid(`${name} is not a whole number`, `${at}/${name}`);
}

export function requireText(members: Members, name: string, most: number, at = ''): void {
  const value = members[name];
  if (typeof value !== 'string') return;
  if (value.length > most) throw invalid(`${name} is longer than ${most} characters`, `${at}/${name}`);
  if (hasControls(value)) throw invalid(`${name} contains a control character`, `${at}/${name}`);
}

/** Whether a text contains a control character: CR, LF and NUL above all. */
export function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

/** Weights have steps of 0.01. */
export function requireWeight(value: unknown, name: string, at: string): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw invalid(`${name} is not in range [0, 1]`, at);
  if (Math.abs(value * 100 - Math.round(value * 100)) > 1e-9) throw invalid(`${name} has a step smaller than 0.01`, at);
}

const MOST_POOLS = 100;

/** Pools in the order of failover. */
export function checkPoolList(pools: readonly string[], name: string, at: string): void {
  if (pools.length > MOST_POOLS) throw invalid(`${name} has more than ${MOST_POOLS} pools`, at);
  if (new Set(pools).size < pools.length) throw invalid(`${name} has a pool twice`, at);
}

/** A host name in lower case, of a Host header; it may have a port. */
export function hostOf(text: string): string | undefined {
  const [, name, port] = /^([^:\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (name === undefined || Number(port ?? 1) > 65535) return undefined;
  return parseHostName(name);
}

/** What the server sets: clients that send back what they read send it, too. */
const READ_ONLY = ['id', 'created_on', 'modified_on', 'zone_name', 'zone_id', 'account_id', 'disabled_at', 'healthy'];

/**
 * The members that are stored: without those that only the server sets, and without null where that is not a value of its own.
 * `nullable`: members of which null says something.
 */
export function settable(members: Members, nullable: readonly string[] = []): Members {
  return Object.fromEntries(
    Object.entries(members).filter(
      ([name, value]) =>
        !READ_ONLY.includes(name) && value !== undefined && (value !== null || nullable.includes(name)),
    ),
  );
}

/** A PATCH: members that it has replace those that are stored; null brings back the default. */
export function patched(stored: Members, change: Members, nullable: readonly string[] = []): Members {
  const present = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return settable({ ...stored, ...present }, nullable);
}
