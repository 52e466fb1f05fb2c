/**
 * Validating resolvers that remember DS records, keys and data for as long as their TTLs allow, in every combination. Keys are
 * told apart by algorithm and tag.
 */
import { Type } from '../../src/dns/codes.js';
import { keyTag } from '../../src/dns/key-tag.js';
import { printName } from '../../src/dns/name.js';
import type { RR } from '../../src/dns/rr.js';

/** Servers of the zone may answer as before for this long, seconds. */
const BEHIND_S = 1800;
/** How long the absence of keys is remembered, seconds. */
const ABSENT_KEYS_S = 1800;

interface Version {
  /** Seconds since 1970; the end of one that is served still is undefined. */
  until: number | undefined;
  readonly ttl: number;
  /** Key names: those that DS records point to, or the keys of a DNSKEY RRset. */
  readonly keys: readonly string[];
  /** Key names of the signatures. */
  readonly signers: readonly string[];
}

/** What one server of the parent has. */
export interface ShownDs {
  readonly server: string;
  /** Contents of DS records. */
  readonly ds: readonly string[];
  readonly ttl: number;
}

export interface Validators {
  /** Shows them what is served from this time on, in seconds since 1970. Returns what some of them do not believe. */
  see(now: number, parent: readonly ShownDs[], records: readonly RR[]): string[];
}

export function rememberingValidators(): Validators {
  const slots = new Map<string, Version[]>();
  const note = (slot: string, now: number, version: Omit<Version, 'until'> | undefined): void => {
    const versions = slots.get(slot) ?? [];
    slots.set(slot, versions);
    const last = versions.at(-1);
    const isServed = last !== undefined && last.until === undefined;
    if (isServed && version && sameVersion(last, version)) return;
    if (isServed) last.until = now;
    if (version) versions.push({ ...version, until: undefined });
  };
  const remembered = (slot: string, now: number, behind: number): Version[] => {
    const kept = slots.get(slot)!.filter(({ until, ttl }) => until === undefined || until + ttl + behind > now);
    slots.set(slot, kept);
    return kept;
  };
  return {
    see(now, parent, records) {
      const shown = new Map<string, Omit<Version, 'until'>>();
      for (const { server, ds, ttl } of parent) {
        shown.set(`ds ${server}`, { ttl, keys: ds.map(keyOfDs), signers: [] });
      }
      for (const [slot, version] of rrsetsOf(records)) shown.set(slot, version);
      if (!shown.has(KEYS)) shown.set(KEYS, { ttl: ABSENT_KEYS_S, keys: [], signers: [] });
      for (const slot of new Set([...slots.keys(), ...shown.keys()])) note(slot, now, shown.get(slot));
      const all = [...slots.keys()].map((slot) => {
        return { slot, versions: remembered(slot, now, slot.startsWith('ds ') ? 0 : BEHIND_S) };
      });
      return doubts(all);
    },
  };
}

const KEYS = 'keys';
const FOR_PARENT = new RegExp(` (${Type.cds}|${Type.cdnskey})$`);

interface Slot {
  readonly slot: string;
  readonly versions: readonly Version[];
}

function doubts(slots: readonly Slot[]): string[] {
  const found: string[] = [];
  const ds = slots.filter(({ slot }) => slot.startsWith('ds ')).flatMap(({ versions }) => versions);
  const data = slots.filter(({ slot }) => slot !== KEYS && !slot.startsWith('ds '));
  for (const { keys: pointed } of ds) {
    // Without a DS record nothing is validated.
    if (pointed.length === 0) continue;
    for (const { keys, signers } of slots.find(({ slot }) => slot === KEYS)!.versions) {
      const isTrusted = pointed.some((key) => keys.includes(key) && signers.includes(key));
      if (!isTrusted) found.push(`DS ${pointed} and keys ${keys} signed by ${signers}`);
      if (!isTrusted) continue;
      for (const { slot, versions } of data) {
        for (const { signers: by } of versions) {
          const isSigned = by.some((key) => keys.includes(key));
          // Validators may insist on every algorithm that the keys have (RFC 6840 §5.11); who reads CDS records does not.
          const isForParent = FOR_PARENT.test(slot);
          const isWhole =
            isForParent || keys.every((key) => by.some((other) => algorithmOf(other) === algorithmOf(key)));
          if (!isSigned || !isWhole) found.push(`keys ${keys} and ${slot} signed by ${by}`);
        }
      }
    }
  }
  return [...new Set(found)];
}

function sameVersion(a: Omit<Version, 'until'>, b: Omit<Version, 'until'>): boolean {
  return a.ttl === b.ttl && a.keys.join() === b.keys.join() && a.signers.join() === b.signers.join();
}

function algorithmOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

function keyName(algorithm: number, tag: number): string {
  return `${algorithm}/${tag}`;
}

function keyOfDs(content: string): string {
  const [tag, algorithm] = content.split(' ');
  return keyName(Number(algorithm), Number(tag));
}

/** RRsets by owner and type; the DNSKEY RRset as `keys`. Delegations and what is below them are not signed and left out. */
function rrsetsOf(records: readonly RR[]): Map<string, Omit<Version, 'until'>> {
  const found = new Map<string, { ttl: number; keys: string[]; signers: string[] }>();
  const at = (owner: Uint8Array, type: number, ttl: number) => {
    const slot = type === Type.dnskey ? KEYS : `${printName(owner)} ${type}`;
    const known = found.get(slot) ?? { ttl, keys: [], signers: [] };
    found.set(slot, known);
    return known;
  };
  for (const { owner, type, ttl, rdata } of records) {
    if (type === Type.rrsig) {
      const covered = (rdata[0]! << 8) | rdata[1]!;
      at(owner, covered, ttl).signers.push(keyName(rdata[2]!, (rdata[16]! << 8) | rdata[17]!));
    } else {
      const rrset = at(owner, type, ttl);
      if (type === Type.dnskey) rrset.keys.push(keyName(rdata[3]!, keyTag(rdata)));
    }
  }
  for (const { keys, signers } of found.values()) for (const list of [keys, signers]) list.sort();
  return found;
}
